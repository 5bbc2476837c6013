/** What kernels take of their GPU: a panel with every figure, and a hint behind each kernel's head. */
import * as vscode from "vscode";
import { sourceOf } from "../notebooks";
import type { Fact, Resources } from "../protocol";
import { SCHEME, type View, type Views } from "./views";

const VIEW = "tirx-lens.resources";
const HAS_RESOURCES = "tirx-lens.hasResources";

type Item = { readonly kind: "kernel"; readonly resources: Resources; readonly view: View } | Fact;

export class ResourcePanel
  implements vscode.TreeDataProvider<Item>, vscode.InlayHintsProvider, vscode.Disposable
{
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly #hintsChanged = new vscode.EventEmitter<void>();
  readonly #registrations: vscode.Disposable;

  readonly onDidChangeTreeData = this.#changed.event;
  readonly onDidChangeInlayHints = this.#hintsChanged.event;

  constructor(readonly views: Views) {
    this.#registrations = vscode.Disposable.from(
      this.#changed,
      this.#hintsChanged,
      vscode.window.registerTreeDataProvider(VIEW, this),
      vscode.languages.registerInlayHintsProvider([{ scheme: SCHEME }, { language: "python" }], this),
      views.onDidChange(() => this.#refresh()),
    );
  }

  getChildren(item?: Item): Item[] {
    if (item === undefined) {
      return this.views
        .open()
        .flatMap((view) => view.cuda.resources.map((resources) => ({ kind: "kernel" as const, resources, view })));
    }
    return "kind" in item ? [...item.resources.facts] : [];
  }

  getTreeItem(item: Item): vscode.TreeItem {
    if ("kind" in item) {
      const made = new vscode.TreeItem(item.view.cuda.title, vscode.TreeItemCollapsibleState.Expanded);
      made.description = item.view.stale === undefined ? item.view.cuda.target : `${item.view.cuda.target}, stale`;
      made.tooltip = item.resources.summary;
      made.iconPath = new vscode.ThemeIcon("circuit-board");
      return made;
    }
    const made = new vscode.TreeItem(`${item.name}: ${item.value}`);
    made.description = item.note;
    made.tooltip = item.note === "" ? `${item.name}: ${item.value}` : `${item.name}: ${item.value} (${item.note})`;
    return made;
  }

  provideInlayHints(document: vscode.TextDocument, range: vscode.Range): vscode.InlayHint[] {
    const hints = document.uri.scheme === SCHEME ? this.#inCuda(document) : this.#inSource(document);
    return hints.filter((hint) => range.contains(hint.position));
  }

  dispose(): void {
    this.#registrations.dispose();
  }

  #inCuda(document: vscode.TextDocument): vscode.InlayHint[] {
    const view = this.views.of(document.uri);
    return (view?.cuda.outline ?? []).flatMap((mark, index) => {
      const resources = view?.cuda.resources[index];
      return resources === undefined ? [] : hint(document, mark.range.start.line, resources);
    });
  }

  /** Behind the line of the source that the kernel's own signature came from. */
  #inSource(document: vscode.TextDocument): vscode.InlayHint[] {
    const uri = document.uri.toString();
    return this.views.openViewsOf(sourceOf(document.uri)).flatMap((view) =>
      view.cuda.outline.flatMap((mark, index) => {
        const head = view.cuda.map.find((link) => link.line === mark.range.start.line)?.frames[0];
        const resources = view.cuda.resources[index];
        return head?.uri === uri && resources !== undefined ? hint(document, head.line, resources) : [];
      }),
    );
  }

  #refresh(): void {
    this.#changed.fire(undefined);
    this.#hintsChanged.fire();
    const has = this.views.open().some((view) => view.cuda.resources.length > 0);
    void vscode.commands.executeCommand("setContext", HAS_RESOURCES, has);
  }
}

function hint(document: vscode.TextDocument, line: number, resources: Resources): vscode.InlayHint[] {
  if (resources.summary === "" || line >= document.lineCount) {
    return [];
  }
  const made = new vscode.InlayHint(document.lineAt(line).range.end, resources.summary);
  made.paddingLeft = true;
  made.tooltip = new vscode.MarkdownString(
    resources.facts.map(({ name, value, note }) => `- ${name}: **${value}**${note === "" ? "" : ` (${note})`}`).join("\n"),
  );
  return [made];
}
