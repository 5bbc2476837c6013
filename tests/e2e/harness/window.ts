/** A VS Code window in a browser, and what a person does in it. */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { chromium, type Browser, type Locator, type Page } from "playwright-core";
import { ROOT, type Editor } from "./editor";
import { eventually } from "./eventually";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** How long anything on the screen may take, on a machine that is busy. */
const LIMIT_MS = 60_000;

export class Window {
  readonly #browser: Browser;
  readonly page: Page;
  readonly #pictures: string;
  /** Hosts that were asked for something, other than the editor's own. */
  readonly strangers = new Set<string>();

  private constructor(browser: Browser, page: Page, editor: Editor, scenario: string) {
    this.#browser = browser;
    this.page = page;
    this.#pictures = path.join(ROOT, ".build/e2e", scenario);
    page.setDefaultTimeout(LIMIT_MS);
    page.on("request", (request) => {
      const { host } = new URL(request.url());
      if (host !== "" && host !== `127.0.0.1:${editor.port}`) {
        this.strangers.add(host);
      }
    });
  }

  /** Open the editor's workspace and wait until its files are listed. */
  static async open(editor: Editor, scenario: string): Promise<Window> {
    const browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS });
    try {
      const context = await browser.newContext({ viewport: { width: 1440, height: 880 } });
      const window = new Window(browser, await context.newPage(), editor, scenario);
      await mkdir(window.#pictures, { recursive: true });
      await window.page.goto(editor.url);
      await window.page.waitForSelector(".explorer-folders-view .monaco-list-row");
      return window;
    } catch (error) {
      await browser.close();
      throw error;
    }
  }

  /** Keep a picture of the window under .build/e2e. */
  async picture(name: string): Promise<void> {
    await this.page.screenshot({ path: path.join(this.#pictures, `${name}.png`) });
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }

  /** The nth group of editors, from the left. */
  group(index: number): Locator {
    return this.page.locator(".editor-group-container").nth(index);
  }

  /** Put the keyboard's focus into the nth group of editors. */
  async focusGroup(index: number): Promise<void> {
    await this.page.keyboard.press(`Control+${index + 1}`);
    await eventually(`group ${index} has the focus`, async () => {
      const classes = await this.group(index).getAttribute("class");
      return classes?.split(" ").includes("active") === true;
    });
  }

  /** Open a file by its name, in the group of editors that has the focus. */
  async openFile(name: string): Promise<void> {
    const group = this.page.locator(".editor-group-container.active");
    const tab = group.locator(".tab.active", { hasText: path.basename(name) });
    // A list of files that is read again at the moment of the choice may take no note of it.
    for (const limit of [LIMIT_MS / 4, LIMIT_MS / 4, LIMIT_MS / 2]) {
      await this.page.keyboard.press("Control+P");
      await this.#choose(name, path.basename(name));
      if (await appeared(tab, limit)) {
        break;
      }
    }
    await tab.waitFor();
    await group.locator(".monaco-editor .view-lines .view-line").first().waitFor();
  }

  /** Open a notebook by its name, and return its cells of code. */
  async openNotebook(name: string): Promise<Locator> {
    await this.page.keyboard.press("Control+P");
    await this.#choose(name, path.basename(name));
    const cells = this.page.locator(".notebookOverlay .cell-list-container .code-cell-row");
    await cells.locator(".view-line").first().waitFor();
    return cells;
  }

  /** Run a command by its name in the command palette. */
  async command(name: string): Promise<void> {
    await this.page.keyboard.press("F1");
    await this.#choose(`>${name}`, name);
  }

  /** Go to a line of the active editor, counted from 1. */
  async goToLine(line: number): Promise<void> {
    await this.page.keyboard.press("Control+G");
    const input = this.page.locator(".quick-input-widget input");
    await input.fill(`:${line}`);
    await this.page.locator(".quick-input-widget .monaco-list-row", { hasText: `line ${line}` }).first().waitFor();
    await input.press("Enter");
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
    await this.page.locator(".statusbar-item", { hasText: `Ln ${line}, Col` }).waitFor();
  }

  /** Choose a colour theme by its name. */
  async chooseTheme(name: string): Promise<void> {
    await this.page.keyboard.press("Control+K");
    await this.page.keyboard.press("Control+T");
    const input = this.page.locator(".quick-input-widget input").first();
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: "Modern" }).first().waitFor();
    await input.fill(name);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().waitFor();
    await input.press("Enter");
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  }

  /** Wait until the server has read the file: it names the kernel that the cursor is in. */
  async checked(kernel: string): Promise<void> {
    const trail = this.page.locator(".editor-group-container.active .breadcrumbs-control");
    await trail.locator(".monaco-breadcrumb-item", { hasText: kernel }).first().waitFor();
  }

  /** Put another text in the place of a line of the active editor, as it stands, in one go. */
  async replaceLine(line: number, text: string): Promise<void> {
    await this.goToLine(line);
    await this.page.keyboard.press("End");
    await this.page.keyboard.press("Shift+Home"); // to the first word
    await this.page.keyboard.press("Shift+Home"); // to the beginning
    await this.page.keyboard.insertText(text);
  }

  /** Find a text in an editor that may be scrolled away from it, and bring it into view. */
  async find(group: Locator, text: string): Promise<void> {
    await group.locator(".view-lines").first().click();
    await this.page.keyboard.press("Control+F");
    const widget = group.locator(".find-widget.visible");
    await widget.waitFor();
    await this.page.keyboard.press("Control+A");
    await this.page.keyboard.type(text);
    // The count is there, though a narrow editor has no room to show it.
    await widget.locator(".matchesCount", { hasText: /^\d+ of \d+/ }).waitFor({ state: "attached" });
    await this.page.keyboard.press("Escape");
  }

  /** Wait for a notification with this text. */
  async notification(text: string | RegExp): Promise<Locator> {
    const toast = this.page.locator(".notification-toast", { hasText: text });
    await toast.first().waitFor();
    return toast.first();
  }

  /** Press the button of a notification. */
  async pressIn(notification: Locator, button: string): Promise<void> {
    await notification.locator(".monaco-button", { hasText: button }).click();
  }

  /** Go to the place of a row of the Problems view, and wait until what is typed goes there. */
  async goToProblem(problem: Locator): Promise<void> {
    await problem.dblclick();
    await this.page.locator(".monaco-editor.focused").first().waitFor();
  }

  /** Ask for the quick fixes at the cursor, and return the one with this text; the first is chosen. */
  async quickFix(text: string): Promise<Locator> {
    const fix = this.page.locator(".action-widget .monaco-list-row", { hasText: text }).first();
    // Before the cursor is where it was sent, or while findings come anew, there is none to list.
    for (const limit of [LIMIT_MS / 12, LIMIT_MS / 4, LIMIT_MS / 2]) {
      if (await fix.isVisible()) {
        break; // the keys that ask for the list choose in it once it is there
      }
      await this.page.keyboard.press("Control+.");
      if (await appeared(fix, limit)) {
        break;
      }
      await this.page.keyboard.press("Escape");
    }
    await fix.waitFor();
    return fix;
  }

  /** Choose a quick fix at the cursor, and wait for what it leads to. */
  async chooseQuickFix(text: string, outcome: Locator, state: "visible" | "detached" = "visible"): Promise<void> {
    // The list is drawn anew when findings come: a click may meet the old one.
    for (const timeout of [LIMIT_MS / 4, LIMIT_MS / 4, LIMIT_MS / 2]) {
      const fix = await this.quickFix(text);
      const clicked = await fix.click({ timeout }).then(yes, no);
      if (clicked && (await outcome.waitFor({ state, timeout }).then(yes, no))) {
        break;
      }
    }
    await outcome.waitFor({ state });
  }

  /** Save the active editor. */
  async save(): Promise<void> {
    const active = this.page.locator(".editor-group-container.active .tab.active");
    await this.page.keyboard.press("Control+S");
    await active.and(this.page.locator(".dirty")).waitFor({ state: "detached" });
  }

  async #choose(typed: string, row: string): Promise<void> {
    const widget = this.page.locator(".quick-input-widget");
    const input = widget.locator("input").first();
    await input.waitFor();
    await input.fill(typed);
    await widget.locator(".monaco-list-row.focused", { hasText: row }).first().waitFor();
    await input.press("Enter");
  }
}

/** Whether something comes onto the screen within a time. */
async function appeared(what: Locator, limit: number): Promise<boolean> {
  return what.waitFor({ timeout: limit }).then(yes, no);
}

function yes(): boolean {
  return true;
}

function no(): boolean {
  return false;
}
