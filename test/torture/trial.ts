/** `full` makes as many attempts as the trial declares. `quick` makes enough to notice a defect within seconds. */
export type Scale = 'quick' | 'full';

/** An attempt to break a promise of the service. */
export interface Trial {
  /** The promise, as a sentence. */
  promise: string;
  /**
   * Tries to break the promise. Returns the measurements in one line.
   * @throws CannotRun if this machine lacks a requirement; any other error means that the promise is broken
   */
  run(scale: Scale): Promise<string>;
}

export class MissingRequirement extends Error {}
