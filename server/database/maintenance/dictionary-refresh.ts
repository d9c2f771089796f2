/** Pause after a refresh, as a multiple of the refresh's duration. Leaves time for other work. */
const PAUSE_FACTOR = 20;

/** Refreshes the search dictionary, with pauses. */
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
    await this.#refreshDictionary();
    const endedAt = performance.now();
    this.#pausesUntil = endedAt + PAUSE_FACTOR * (endedAt - startedAt);
  }
}
