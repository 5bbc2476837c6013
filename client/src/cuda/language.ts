/** What the editor knows of a document of generated CUDA: outline, folds, hovers, findings. */
import * as vscode from "vscode";
import type { CudaFinding, Helper, Mark, Range } from "../protocol";
import { SCHEME, type View, type Views } from "./views";

const SELECTOR: vscode.DocumentSelector = { scheme: SCHEME };

const KINDS: Readonly<Record<Mark["kind"], vscode.SymbolKind>> = {
  kernel: vscode.SymbolKind.Function,
  role: vscode.SymbolKind.Namespace,
  loop: vscode.SymbolKind.Array,
  operation: vscode.SymbolKind.Event,
};

const SEVERITIES: Readonly<Record<CudaFinding["severity"], vscode.DiagnosticSeverity>> = {
  error: vscode.DiagnosticSeverity.Error,
  warning: vscode.DiagnosticSeverity.Warning,
  information: vscode.DiagnosticSeverity.Information,
  hint: vscode.DiagnosticSeverity.Hint,
};

export class CudaLanguage
  implements vscode.DocumentSymbolProvider, vscode.FoldingRangeProvider, vscode.HoverProvider, vscode.Disposable
{
  readonly #diagnostics = vscode.languages.createDiagnosticCollection("tirx-lens-cuda");
  readonly #registrations: vscode.Disposable;

  constructor(readonly views: Views) {
    this.#registrations = vscode.Disposable.from(
      this.#diagnostics,
      vscode.languages.registerDocumentSymbolProvider(SELECTOR, this, { label: "TIRx Lens" }),
      vscode.languages.registerFoldingRangeProvider(SELECTOR, this),
      vscode.languages.registerHoverProvider(SELECTOR, this),
      views.onDidChange((uri) => this.#publish(uri)),
      vscode.workspace.onDidCloseTextDocument((document) => this.#diagnostics.delete(document.uri)),
    );
  }

  provideDocumentSymbols(document: vscode.TextDocument): vscode.DocumentSymbol[] {
    return (this.views.of(document.uri)?.cuda.outline ?? []).map(symbol);
  }

  provideFoldingRanges(document: vscode.TextDocument): vscode.FoldingRange[] {
    const view = this.views.of(document.uri);
    if (view === undefined) {
      return [];
    }
    const { preambleLine, outline } = view.cuda;
    // Folded when the document is opened, as `editor.foldingImportsByDefault` has it for CUDA.
    const preamble =
      preambleLine > 1 ? [new vscode.FoldingRange(0, preambleLine - 1, vscode.FoldingRangeKind.Imports)] : [];
    return [...preamble, ...outline.flatMap(folds)];
  }

  provideHover(document: vscode.TextDocument, position: vscode.Position): vscode.Hover | undefined {
    const view = this.views.of(document.uri);
    const word = document.getWordRangeAtPosition(position);
    const helper = view?.cuda.helpers.find((each) => word !== undefined && each.name === document.getText(word));
    return view === undefined || helper === undefined
      ? undefined
      : new vscode.Hover([ptx(helper), ...sourceLine(view, position.line)], word);
  }

  dispose(): void {
    this.#registrations.dispose();
  }

  #publish(uri: vscode.Uri): void {
    const view = this.views.of(uri);
    this.#diagnostics.set(uri, view === undefined ? [] : view.cuda.findings.map((each) => diagnostic(uri, each)));
  }
}

function symbol(mark: Mark): vscode.DocumentSymbol {
  const whole = range(mark.range);
  const made = new vscode.DocumentSymbol(mark.title, mark.detail, KINDS[mark.kind], whole, whole);
  made.children = mark.children.map(symbol);
  return made;
}

function folds(mark: Mark): vscode.FoldingRange[] {
  const inside = mark.children.flatMap(folds);
  const { start, end } = mark.range;
  return mark.kind !== "operation" && end.line > start.line
    ? [new vscode.FoldingRange(start.line, end.line), ...inside]
    : inside;
}

function ptx(helper: Helper): vscode.MarkdownString {
  return new vscode.MarkdownString().appendCodeblock(helper.ptx, "ptx");
}

/** The Python of a line of CUDA, as links: the call first, then what it calls. */
function sourceLine(view: View, line: number): vscode.MarkdownString[] {
  const link = view.cuda.map.find((each) => each.line === line);
  if (link === undefined) {
    return [];
  }
  const text = new vscode.MarkdownString(link.guessed ? "About " : "From ");
  link.frames.forEach((frame, index) => {
    const uri = vscode.Uri.parse(frame.uri);
    const name = uri.path.slice(uri.path.lastIndexOf("/") + 1);
    text.appendMarkdown(index === 0 ? "" : " → ");
    text.appendMarkdown(`[`);
    text.appendText(`${name}:${frame.line + 1}`);
    text.appendMarkdown(`](${uri.with({ fragment: `L${frame.line + 1}` }).toString()})`);
  });
  return [text];
}

function diagnostic(uri: vscode.Uri, finding: CudaFinding): vscode.Diagnostic {
  const made = new vscode.Diagnostic(range(finding.range), finding.message, SEVERITIES[finding.severity]);
  made.source = "tirx-lens";
  made.code = { value: finding.code, target: vscode.Uri.parse(finding.url) };
  made.relatedInformation = finding.related.map(
    (related) => new vscode.DiagnosticRelatedInformation(new vscode.Location(uri, range(related.range)), related.message),
  );
  return made;
}

function range({ start, end }: Range): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}
