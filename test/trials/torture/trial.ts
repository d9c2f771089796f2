/** `full` makes the number of attempts that the promise requires. `quick` makes enough to detect an obvious defect. */
export type Scale = 'quick' | 'full';

/** An attempt to break a promise of the service. */
export interface Trial {
  /** The promise, as a sentence. */
  promise: string;
  /** Whether the trial also runs on PostgreSQL. False if it is about SQLite's files, or independent of the database. */
  runsOnPostgresql: boolean;
  /** Whether it compares times with limits. Then no other trial runs beside it. */
  measuresTime?: true;
  /** The file of `npm run test:e2e` that makes some of its attempts. If there is one, the quick scale skips the trial. */
  quickTest?: string;
  /**
   * Tries to break the promise. Returns the measurements in one line.
   * @throws MissingRequirement if this machine cannot run the trial; any other error means that the promise is broken
   */
  run(scale: Scale): Promise<string>;
}

/** Skips a trial. The message states the requirement that the machine does not meet. */
export class MissingRequirement extends Error {}
