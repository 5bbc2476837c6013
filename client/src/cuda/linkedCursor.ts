/** The cursor in a kernel marks its CUDA, and the cursor in the CUDA marks its kernel. */
import * as vscode from "vscode";
import { Links, regions, type Lines } from "./links";
import { cudaLine, SCHEME, type Part, type View, type Views } from "./views";

interface Shown {
  readonly links: Links;
  /** The text the links were made for: another one has other links. */
  readonly view: View;
}

export class LinkedCursor implements vscode.Disposable {
  readonly #exact = decoration("tirxLens.linkedLineBackground", "tirxLens.linkedLineBorder");
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
      this.#fromGenerated(editor, line, moves);
    } else {
      this.#fromSource(editor, line, moves);
    }
  }

  #fromSource(editor: vscode.TextEditor, line: number, moves: boolean): void {
    const uri = editor.document.uri.toString();
    let found: readonly Lines[] | undefined;
    for (const { view, links } of this.#visibleViews()) {
      found = links.cudaOf(uri, line);
      this.#markParts(view, found, moves, undefined);
    }
    if (found !== undefined) {
      const here = { first: line, last: line, guessed: found.every((region) => region.guessed) };
      this.#mark(editor, found.length > 0 ? [here] : []);
    }
  }

  #fromGenerated(editor: vscode.TextEditor, line: number, moves: boolean): void {
    const shown = this.views.partOf(editor.document.uri);
    if (shown === undefined) {
      return;
    }
    const cuda = cudaLine(shown.view, shown.part, line);
    const places = cuda === undefined ? [] : this.#linksOf(shown.view).pythonOf(cuda);
    const guessed = places.some((place) => place.guessed);
    const own = cuda === undefined ? [] : [{ first: cuda, last: cuda, guessed }];
    this.#markParts(shown.view, own, moves, editor);
    this.#mark(editor, cuda === undefined ? [] : [{ first: line, last: line, guessed }]);
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

  /** Mark lines of CUDA, and the PTX and SASS that came from them, wherever they are visible. */
  #markParts(view: View, lines: readonly Lines[], moves: boolean, except: vscode.TextEditor | undefined): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const shown = editor === except ? undefined : this.views.partOf(editor.document.uri);
      if (editor.document.uri.scheme !== SCHEME || shown?.view.uri.toString() !== view.uri.toString()) {
        continue;
      }
      const here = shown.part === "cuda" ? lines : inCode(view, shown.part, lines);
      this.#mark(editor, here);
      const first = here[0];
      if (moves && first !== undefined && !here.some((region) => isVisible(editor, region))) {
        editor.revealRange(rangeOf(first), vscode.TextEditorRevealType.InCenter);
      }
    }
  }

  #visibleViews(): readonly Shown[] {
    const views = new Map<string, View>();
    for (const { document } of vscode.window.visibleTextEditors) {
      const view = document.uri.scheme === SCHEME ? this.views.partOf(document.uri)?.view : undefined;
      if (view !== undefined) {
        views.set(view.uri.toString(), view);
      }
    }
    return [...views.values()].map((view) => ({ view, links: this.#linksOf(view) }));
  }

  #mark(editor: vscode.TextEditor, lines: readonly Lines[]): void {
    const ranges = (guessed: boolean): vscode.Range[] =>
      lines.filter((each) => each.guessed === guessed).map(rangeOf);
    editor.setDecorations(this.#exact, ranges(false));
    editor.setDecorations(this.#guessed, ranges(true));
  }

  #linksOf(view: View): Links {
    const key = view.uri.toString();
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

/** The lines of PTX or SASS that came from some lines of CUDA. */
function inCode(view: View, part: Part, lines: readonly Lines[]): readonly Lines[] {
  const code = part === "cuda" ? undefined : view.cuda.machine?.[part];
  return regions(
    (code?.lines ?? []).flatMap((cuda, line) => {
      const from = cuda === null ? undefined : lines.find(({ first, last }) => first <= cuda && cuda <= last);
      return from === undefined ? [] : [{ first: line, last: line, guessed: from.guessed }];
    }),
  );
}

/** Lines on a faint background, so that what stands on it stays readable, with a bar at their left. */
function decoration(background: string, border?: string): vscode.TextEditorDecorationType {
  const bar = border === undefined ? {} : {
    borderColor: new vscode.ThemeColor(border),
    borderStyle: "solid",
    borderWidth: "0 0 0 3px",
  };
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor(background),
    overviewRulerColor: new vscode.ThemeColor(border ?? background),
    overviewRulerLane: vscode.OverviewRulerLane.Center,
    ...bar,
  });
}

function rangeOf({ first, last }: Lines): vscode.Range {
  return new vscode.Range(first, 0, last, Number.MAX_SAFE_INTEGER);
}

function isVisible(editor: vscode.TextEditor, lines: Lines): boolean {
  return editor.visibleRanges.some((range) => range.start.line <= lines.first && lines.first <= range.end.line);
}
