/** How many rows a second have come and gone lately. */

const WINDOW_MS = 5000;

export interface Rate {
  readonly added: number;
  readonly retracted: number;
}

export class Rates {
  #events: { readonly at: number; readonly added: number; readonly retracted: number }[] = [];
  readonly #begun = performance.now();

  count(added: number, retracted: number): void {
    this.#events.push({ at: performance.now(), added, retracted });
  }

  now(): Rate {
    const now = performance.now();
    this.#events = this.#events.filter(({ at }) => now - at < WINDOW_MS);
    // A stream that has just begun is not compared with five seconds.
    const seconds = Math.min(WINDOW_MS, Math.max(1000, now - this.#begun)) / 1000;
    const sum = (of: "added" | "retracted") => this.#events.reduce((total, event) => total + event[of], 0) / seconds;
    return { added: sum("added"), retracted: sum("retracted") };
  }
}
