/** Pause after a refresh, also after a failed one, as a multiple of its duration. Leaves time for other work. */
const PAUSE_FACTOR = 20;

/** Limits the pause after a refresh that took long only because it waited for a lock. */
const MAX_PAUSE_MS = 100_000;

/**
 * Refreshes the search dictionary, with pauses. Does not report a refresh that words of deleted spaces have prevented,
 * because their removal is a write, which causes another round of maintenance.
 */
export class DictionaryRefresh {
  readonly #refreshDictionary: () => Promise<boolean>;
  #pausesUntil = 0;

  constructor(refreshDictionary: () => Promise<boolean>) {
    this.#refreshDictionary = refreshDictionary;
  }

  /** Whether the last refresh is too recent for another one. */
  get isPausing(): boolean {
    return performance.now() < this.#pausesUntil;
  }

  async run(): Promise<void> {
    const startedAt = performance.now();
    try {
      await this.#refreshDictionary();
    } finally {
      const endedAt = performance.now();
      const pauseMs = Math.min(MAX_PAUSE_MS, PAUSE_FACTOR * (endedAt - startedAt));
      this.#pausesUntil = endedAt + pauseMs;
    }
  }
}
