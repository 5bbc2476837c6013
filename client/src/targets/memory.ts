/** Where this workspace is built, and which targets of projects its user has confirmed. */
import type { Memory } from "../cuda/choices";

export const LOCAL = "local";

const CHOSEN = "targets.chosen";
const CONFIRMED = "targets.confirmed";
const MOST_KEPT = 500;

interface Confirmed {
  /** The URI of the workspace file or of the first folder. */
  readonly workspace: string;
  /** The server's hash of all that the project says of targets. */
  readonly fingerprint: string;
}

/** Kept by VS Code outside of the workspace: nothing that is cloned or unpacked can set it. */
export class TargetMemory {
  /** A window without a folder has no `workspace`; what is confirmed in it is forgotten with it. */
  constructor(
    readonly ofWorkspace: Memory,
    readonly everywhere: Memory,
    readonly workspace: string | undefined,
  ) {}

  get chosen(): string {
    return this.ofWorkspace.get(CHOSEN, LOCAL);
  }

  async choose(name: string): Promise<void> {
    await this.ofWorkspace.update(CHOSEN, name);
  }

  /** The fingerprints that were confirmed for this workspace. */
  get confirmed(): readonly string[] {
    return this.#all()
      .filter(({ workspace }) => workspace === this.workspace)
      .map(({ fingerprint }) => fingerprint);
  }

  async confirm(fingerprint: string): Promise<void> {
    const { workspace } = this;
    if (workspace !== undefined) {
      const others = this.#all().filter((one) => one.workspace !== workspace || one.fingerprint !== fingerprint);
      await this.everywhere.update(CONFIRMED, [{ workspace, fingerprint }, ...others].slice(0, MOST_KEPT));
    }
  }

  #all(): readonly Confirmed[] {
    return this.everywhere.get<readonly Confirmed[]>(CONFIRMED, []);
  }
}
