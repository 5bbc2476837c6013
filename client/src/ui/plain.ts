/** Texts that come from files and hosts, where VS Code gives some of their characters a meaning. */

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/gu;

/**
 * The same text for a notification, a status or a label: without control characters, and with no
 * link (`[text](command:...)`) and no icon (`$(name)`) in it.
 */
export function plain(text: string): string {
  return text.replace(CONTROL, " ").replaceAll("](", "] (").replaceAll("$(", "$ (");
}
