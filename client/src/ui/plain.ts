/** Texts that come from files and hosts, where VS Code gives some of their characters a meaning. */

const BREAKS = /[\t\r\n]+/gu;
/** Control characters: of terminals, and of the direction of writing. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * The same text for a notification, a status or a label: in one line, with its control characters
 * spelled out, and with no link (`[text](command:...)`) and no icon (`$(name)`) in it.
 */
export function plain(text: string): string {
  return text.replace(BREAKS, " ").replace(CONTROL, spelled).replaceAll("](", "] (").replaceAll("$(", "$ (");
}

function spelled(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
