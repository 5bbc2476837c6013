/** What the keys do in a timeline. */
import type { Move } from "./layout";

export type Action =
  | { readonly kind: "move"; readonly to: Move }
  | { readonly kind: "enter"; readonly takesFocus: boolean }
  | { readonly kind: "leave" }
  | { readonly kind: "cause" }
  | { readonly kind: "effect" }
  | { readonly kind: "zoom"; readonly factor: number }
  | { readonly kind: "fit" }
  | { readonly kind: "pan"; readonly screens: number };

const MOVES: Readonly<Partial<Record<string, Move>>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  Home: "first",
  End: "last",
};

/** A key as it is pressed: what the chart looks at of a keyboard event. */
interface Pressed {
  readonly key: string;
  readonly altKey: boolean;
  readonly metaKey: boolean;
  readonly ctrlKey: boolean;
  readonly shiftKey: boolean;
}

/** What a key does: go through the bars, or look elsewhere; undefined where it is not the chart's. */
export function actionOf({ key, altKey, metaKey, ctrlKey, shiftKey }: Pressed): Action | undefined {
  if (altKey || metaKey) {
    return undefined;
  }
  const to = ctrlKey || shiftKey ? undefined : MOVES[key];
  if (to !== undefined) {
    return { kind: "move", to };
  }
  switch (key) {
    case "Enter":
    case " ":
      return { kind: "enter", takesFocus: key === "Enter" };
    case "Escape":
      return { kind: "leave" };
    case "[":
      return { kind: "cause" };
    case "]":
      return { kind: "effect" };
    case "+":
    case "=":
      return { kind: "zoom", factor: 1.5 };
    case "-":
      return { kind: "zoom", factor: 1 / 1.5 };
    case "0":
      return { kind: "fit" };
    case "ArrowLeft":
      return { kind: "pan", screens: -1 / 3 };
    case "ArrowRight":
      return { kind: "pan", screens: 1 / 3 };
    default:
      return undefined;
  }
}
