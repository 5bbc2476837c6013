const IMPORT = /^[ \t]*(?:from|import)[ \t][^\n#]*\btvm\b[^\n#]*\btirx|^[ \t]*(?:from|import)[ \t]+tvm_tirx\b/m;

/** Tell from its text whether a Python file imports TIRx. */
export function importsTirx(text: string): boolean {
  return IMPORT.test(text);
}
