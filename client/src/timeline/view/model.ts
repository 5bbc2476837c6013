/** What is drawn, as the server and `tirx-lens timeline` write it. */

export type BarKind =
  | "wait"
  | "arrive"
  | "load"
  | "mma"
  | "tmem"
  | "store"
  | "touch"
  | "meet"
  | "setup"
  | "blocked"
  | "phase";

/** A role, or one slot of a barrier. */
export interface Row {
  readonly kind: "role" | "barrier";
  readonly title: string;
  readonly name: string;
  readonly detail: string;
  readonly cta: number;
  readonly group: string;
  /** How many bars may stand above one another. */
  readonly lanes: number;
  readonly isQuiet: boolean;
}

/** From `start` to `stop`, in ticks, of which it waits until `ready`. */
export interface Bar {
  readonly kind: BarKind;
  readonly row: number;
  readonly lane: number;
  readonly start: number;
  readonly stop: number;
  readonly ready: number;
  readonly label: string;
  readonly text: string;
  /** An index into the places. */
  readonly at: number | null;
  readonly event?: number;
  readonly isEngine?: true;
  readonly isOpen?: true;
  readonly phase?: number;
  readonly missing?: string;
}

export interface Arrow {
  readonly kind: "barrier" | "meeting" | "engine";
  readonly first: number;
  readonly second: number;
}

export interface Clash {
  readonly first: number;
  readonly second: number | null;
  readonly text: string;
}

export interface Told {
  readonly number: number;
  readonly bar: number | null;
  readonly at: number;
  readonly text: string;
}

/** Rows and columns count from 1. The files of cells, and of the page, are texts of their own: they have no cell. */
export interface Place {
  readonly file: string;
  readonly name: string;
  readonly cell: null;
  readonly row: number;
  readonly column: number;
  readonly endRow: number;
}

export interface Timeline {
  readonly verdict: string;
  readonly isBad: boolean;
  /** The bar that says best what is wrong. */
  readonly wrong: number | null;
  readonly size: string;
  readonly end: number;
  readonly rows: readonly Row[];
  readonly bars: readonly Bar[];
  readonly arrows: readonly Arrow[];
  readonly clashes: readonly Clash[];
  readonly story: readonly Told[];
  readonly places: readonly Place[];
}

/** Why a kernel has no timeline, and where what stands in the way is written. */
export interface Why {
  readonly reason: string;
  readonly place: Place | null;
}

/** One kernel of those that can be chosen from. */
export interface Shown {
  readonly kernels: readonly string[];
  readonly chosen: number;
  readonly file: string;
  readonly timeline: Timeline | null;
  readonly why: Why | null;
  /** Why what is shown is older than the text; null where it is not. */
  readonly stale: string | null;
}

/** What the view is told. */
export type ToView =
  | ({ readonly type: "show" } & Shown)
  | { readonly type: "cursor"; readonly file: string; readonly first: number; readonly last: number };

/** What the view asks for. */
export type FromView =
  | { readonly type: "ready" }
  | { readonly type: "choose"; readonly kernel: number }
  | { readonly type: "reveal"; readonly place: Place; readonly takesFocus: boolean };
