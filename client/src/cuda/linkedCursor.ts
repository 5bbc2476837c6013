/** The cursor in a kernel marks its CUDA, and the cursor in the CUDA marks its kernel. */
import * as vscode from "vscode";
import { Links, type Lines } from "./links";
import { SCHEME, type View, type Views } from "./views";

interface Shown {
  readonly links: Links;
  /** The text the links were made for: another one has other links. */
  readonly view: View;
}

export class LinkedCursor implements vscode.Disposable {
  readonly #exact = decoration("tirxLens.linkedLineBackground");
  readonly #guessed = decoration("tirxLens.guessedLineBackground");
  readonly #shown = new Map<string, Shown>();
  readonly #subscriptions: vscode.Disposable;

  constructor(readonly views: Views) {
    this.#subscriptions = vscode.Disposable.from(
      this.#exact,
      this.#guessed,
      vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => this.#follow(textEditor, kind)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#followActive()),
      vscode.workspace.onDidChangeTextDocument((event) => this.#edited(event)),
      views.onDidChange(() => this.#followActive()),
    );
  }

  /** Bring the counterpart of the cursor into view, as if the cursor had just come there. */
  reveal(): void {
    const active = vscode.window.activeTextEditor;
    if (active !== undefined) {
      this.#follow(active, vscode.TextEditorSelectionChangeKind.Command);
    }
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #followActive(): void {
    const active = vscode.window.activeTextEditor;
    if (active !== undefined) {
      this.#follow(active, undefined);
    }
  }

  #follow(editor: vscode.TextEditor, kind: vscode.TextEditorSelectionChangeKind | undefined): void {
    if (editor !== vscode.window.activeTextEditor) {
      return; // a selection that this extension has made itself
    }
    const line = editor.selection.active.line;
    const moves = kind !== undefined; // the user's own cursor: only then is the other side scrolled
    if (editor.document.uri.scheme === SCHEME) {
      this.#fromCuda(editor, line, moves);
    } else {
      this.#fromSource(editor, line, moves);
    }
  }

  #fromSource(editor: vscode.TextEditor, line: number, moves: boolean): void {
    const uri = editor.document.uri.toString();
    for (const cuda of vscode.window.visibleTextEditors) {
      const links = this.#linksOf(cuda.document.uri);
      if (links === undefined) {
        continue;
      }
      const lines = links.cudaOf(uri, line);
      this.#mark(cuda, lines);
      const first = lines[0];
      if (moves && first !== undefined && !lines.some((region) => isVisible(cuda, region))) {
        cuda.revealRange(rangeOf(first), vscode.TextEditorRevealType.InCenter);
      }
      if (lines.length > 0) {
        this.#mark(editor, [{ first: line, last: line, guessed: lines.every((region) => region.guessed) }]);
      } else {
        this.#mark(editor, []);
      }
    }
  }

  #fromCuda(editor: vscode.TextEditor, line: number, moves: boolean): void {
    const places = this.#linksOf(editor.document.uri)?.pythonOf(line) ?? [];
    const guessed = places.some((place) => place.guessed);
    this.#mark(editor, places.length > 0 ? [{ first: line, last: line, guessed }] : []);
    for (const source of vscode.window.visibleTextEditors) {
      if (source.document.uri.scheme === SCHEME) {
        continue;
      }
      const here = places.filter((place) => place.uri === source.document.uri.toString());
      this.#mark(source, here);
      const innermost = here.at(-1);
      if (moves && innermost !== undefined && !isVisible(source, innermost)) {
        source.revealRange(rangeOf(innermost), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      }
    }
  }

  #mark(editor: vscode.TextEditor, lines: readonly Lines[]): void {
    const ranges = (guessed: boolean): vscode.Range[] =>
      lines.filter((each) => each.guessed === guessed).map(rangeOf);
    editor.setDecorations(this.#exact, ranges(false));
    editor.setDecorations(this.#guessed, ranges(true));
  }

  #linksOf(uri: vscode.Uri): Links | undefined {
    const view = this.views.of(uri);
    if (view === undefined) {
      return undefined;
    }
    const key = uri.toString();
    const shown = this.#shown.get(key);
    if (shown?.view.cuda === view.cuda) {
      return shown.links;
    }
    const links = new Links(view.cuda.map);
    this.#shown.set(key, { links, view });
    return links;
  }

  /** Keep the links where their statements go while a source is edited, until the next build. */
  #edited(event: vscode.TextDocumentChangeEvent): void {
    const uri = event.document.uri.toString();
    for (const [key, shown] of this.#shown) {
      if (this.views.of(vscode.Uri.parse(key)) === undefined) {
        this.#shown.delete(key);
        continue;
      }
      const links = event.contentChanges.reduce(
        (current, { range, text }) =>
          current.edited(uri, {
            first: range.start.line,
            last: range.end.line,
            inserted: text.split(/\r\n|\r|\n/).length - 1,
          }),
        shown.links,
      );
      this.#shown.set(key, { ...shown, links });
    }
  }
}

function decoration(background: string): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor(background),
    overviewRulerColor: new vscode.ThemeColor(background),
    overviewRulerLane: vscode.OverviewRulerLane.Center,
  });
}

function rangeOf({ first, last }: Lines): vscode.Range {
  return new vscode.Range(first, 0, last, Number.MAX_SAFE_INTEGER);
}

function isVisible(editor: vscode.TextEditor, lines: Lines): boolean {
  return editor.visibleRanges.some((range) => range.start.line <= lines.first && lines.first <= range.end.line);
}
