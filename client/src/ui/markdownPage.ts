/** A page of rendered Markdown for a panel, of which the links lead to lines. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { notebookAt, sourceOf } from "../notebooks";
import { lineOfLink } from "../worksheetLinks";

const STYLE = `
  body { padding: 0 1rem 2rem; color: var(--vscode-editor-foreground); font-size: var(--vscode-font-size); }
  table { border-collapse: collapse; width: max-content; margin: 0.5rem 0 1rem; }
  th, td { border: 1px solid var(--vscode-editorWidget-border, #8884); padding: 0.3rem 0.5rem; text-align: left; vertical-align: top; }
  td { max-width: 13rem; }
  th { background: var(--vscode-editorWidget-background); position: sticky; top: 0; }
  code { font-family: var(--vscode-editor-font-family); color: var(--vscode-textPreformat-foreground); background: none; }
  /* There its colour is one for a dark background of its own. */
  .vscode-high-contrast-light code { color: inherit; }
  a { color: var(--vscode-textLink-foreground); }
  .notice { padding: 0.3rem 0.5rem; border-left: 3px solid var(--vscode-editorWarning-foreground); }
`;

/** Sends the links that are clicked, or followed by the keyboard. */
const SCRIPT = `
  const vscode = acquireVsCodeApi();
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (link !== null) {
      event.preventDefault();
      event.stopImmediatePropagation();
      vscode.postMessage({ href: link.getAttribute("href") });
    }
  }, true);
`;

/** What may be shown in a panel: Markdown that VS Code renders, and an older text's notice. */
export async function pageOf(markdown: string, notice?: string): Promise<string> {
  const rendered = await vscode.commands.executeCommand<string>("markdown.api.render", markdown);
  const nonce = randomBytes(16).toString("base64");
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}';`;
  const told = notice === undefined ? "" : `<p class="notice" role="status">${escaped(notice)}</p>`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
${told}${rendered}
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>`;
}

/** Go to the line of a link, in the column in which its file is open; `path` is that of `source`. */
export async function followLink(href: string, path: string, source: vscode.Uri): Promise<void> {
  const place = lineOfLink(href);
  if (place === undefined) {
    return;
  }
  const uri = place.path === path ? cellOf(source, place.cell) : vscode.Uri.file(place.path);
  const at = new vscode.Position(place.line - 1, 0);
  await vscode.window.showTextDocument(uri, {
    viewColumn: columnOf(uri) ?? vscode.ViewColumn.One,
    selection: new vscode.Range(at, at),
  });
}

/** The document of a cell of a notebook, counted from 1; a document that is no cell as it is. */
function cellOf(source: vscode.Uri, number: number | undefined): vscode.Uri {
  const cells = notebookAt(sourceOf(source))?.getCells();
  return (number === undefined ? undefined : cells?.[number - 1]?.document.uri) ?? source;
}

/** The column in which a file is open. */
function columnOf(uri: vscode.Uri): vscode.ViewColumn | undefined {
  return vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .find(({ input }) => input instanceof vscode.TabInputText && input.uri.toString() === uri.toString())?.group
    .viewColumn;
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
}
