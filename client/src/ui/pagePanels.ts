/** Pages of Markdown about a file in panels beside it, which follow its text. */
import * as vscode from "vscode";
import { sourceOf } from "../notebooks";
import type { Failed, Page } from "../protocol";
import { followLink, pageOf } from "./markdownPage";
import { show } from "./notify";

/** How long typing has to pause before a page follows. */
const PAUSE_MS = 500;

/** Where pages of one kind come from. */
export interface PageSource<Asked> {
  /** The type of the panels. */
  readonly view: string;
  /** Ask for a page; undefined where the user cancelled that. */
  ask(source: vscode.Uri, asked: Asked): Promise<Page | Failed | undefined>;
  /** What is asked once the text has changed, and what the page says of it then; as at first where this is left out. */
  later?(asked: Asked): { readonly asked: Asked; readonly notice?: string };
}

interface Shown<Asked> {
  readonly key: string;
  readonly panel: vscode.WebviewPanel;
  readonly source: vscode.Uri;
  asked: Asked;
  /** What the panel shows now, for its links. */
  page: Page;
  timer?: NodeJS.Timeout;
  /** Counts the requests, so that a late answer to an older one is dropped. */
  requests: number;
}

export class PagePanels<Asked> implements vscode.Disposable {
  readonly #pages: PageSource<Asked>;
  readonly #shown = new Map<string, Shown<Asked>>();
  readonly #changes: vscode.Disposable;

  constructor(pages: PageSource<Asked>) {
    this.#pages = pages;
    this.#changes = vscode.workspace.onDidChangeTextDocument(({ document }) => this.#changed(sourceOf(document.uri)));
  }

  /** Show a page about a file beside it, in the panel of this `kind` of pages about the file if there is one. */
  async show(source: vscode.Uri, asked: Asked, kind = ""): Promise<void> {
    const page = await this.#pages.ask(source, asked);
    if (page === undefined) {
      return;
    }
    if (page.kind === "failed") {
      await show("information", page.message);
      return;
    }
    const key = `${kind} ${source.toString()}`;
    const known = this.#shown.get(key);
    if (known !== undefined) {
      known.asked = asked;
      known.requests += 1;
      known.panel.reveal(undefined, true);
      await this.#put(known, page);
      return;
    }
    await this.#put(this.#open(key, source, asked, page), page);
  }

  /** Ask anew for what is shown of a file. */
  async refresh(source: vscode.Uri): Promise<void> {
    await Promise.all(this.#of(source).map((shown) => this.#refresh(shown)));
  }

  dispose(): void {
    this.#changes.dispose();
    this.#shown.forEach(({ panel }) => {
      panel.dispose();
    });
  }

  #open(key: string, source: vscode.Uri, asked: Asked, page: Page): Shown<Asked> {
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel(this.#pages.view, page.title, column, {
      enableScripts: true,
      enableFindWidget: true,
      localResourceRoots: [],
    });
    const shown: Shown<Asked> = { key, panel, source, asked, page, requests: 0 };
    this.#shown.set(key, shown);
    panel.onDidDispose(() => {
      clearTimeout(shown.timer);
      this.#shown.delete(key);
    });
    panel.webview.onDidReceiveMessage((message: { readonly href?: unknown }) => {
      if (typeof message.href === "string") {
        void followLink(message.href, shown.page.path, source);
      }
    });
    return shown;
  }

  /** Those of a file, or of cells of a notebook. */
  #of(source: vscode.Uri): readonly Shown<Asked>[] {
    return [...this.#shown.values()].filter((each) => sourceOf(each.source).toString() === source.toString());
  }

  #changed(source: vscode.Uri): void {
    for (const shown of this.#of(source)) {
      clearTimeout(shown.timer);
      shown.timer = setTimeout(() => void this.#refresh(shown), PAUSE_MS);
    }
  }

  async #refresh(shown: Shown<Asked>): Promise<void> {
    const number = ++shown.requests;
    const { asked, notice } = this.#pages.later?.(shown.asked) ?? { asked: shown.asked };
    const page = await this.#pages.ask(shown.source, asked);
    if (number !== shown.requests || page === undefined || this.#shown.get(shown.key) !== shown) {
      return;
    }
    if (page.kind === "page") {
      await this.#put(shown, page, notice);
    } else {
      await this.#put(shown, shown.page, `Older than the text: ${page.message}`);
    }
  }

  async #put(shown: Shown<Asked>, page: Page, notice?: string): Promise<void> {
    shown.page = page;
    shown.panel.title = page.title;
    shown.panel.webview.html = await pageOf(page.markdown, notice);
  }
}
