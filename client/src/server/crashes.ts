/** Whether a server that stopped by itself is started again without asking. */

const WINDOW_MS = 3 * 60_000;
const TRIES = 3;
const PAUSE_MS = 1_000;

export interface Verdict {
  readonly restart: boolean;
  /** How long to wait before that: nothing the first time, then longer each time. */
  readonly pauseMs: number;
  /** How often the server stopped within the last three minutes, this time included. */
  readonly count: number;
}

/** The last times the server stopped by itself. */
export class Crashes {
  #times: readonly number[] = [];

  /** Take note of a stop at `now`, in milliseconds, and say whether to start again. */
  record(now: number): Verdict {
    this.#times = [...this.#times.filter((time) => now - time < WINDOW_MS), now];
    const count = this.#times.length;
    return { restart: count <= TRIES, pauseMs: (count - 1) * PAUSE_MS, count };
  }

  /** Forget them: the user asked for a start. */
  clear(): void {
    this.#times = [];
  }
}
