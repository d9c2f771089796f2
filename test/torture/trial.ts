/** How much is done: all that the table in run.ts promises, or in seconds enough to notice that something broke. */
export type Scale = 'quick' | 'full';

/** An attempt to break a promise of the service. */
export interface Trial {
  /** The promise, as a sentence. */
  promise: string;
  /**
   * Tries to break it. Answers with what was measured, in one line.
   * @throws CannotRun where this machine lacks what it takes; anything else means that the promise was broken
   */
  run(scale: Scale): Promise<string>;
}

export class CannotRun extends Error {}
