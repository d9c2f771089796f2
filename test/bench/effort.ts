/** The amount of work of a run. */
export interface Effort {
  rounds: number;
  /** Seconds per round. */
  warmUp: number;
  /** Seconds per round. */
  duration: number;
  /** Queries of each class that are timed individually. */
  queries: number;
  /** Records in the file whose import is timed. */
  importRecords: number;
}

export const FULL: Effort = {
  rounds: 5,
  warmUp: 1,
  duration: 3,
  queries: 100,
  importRecords: 400_000,
};

export const QUICK: Effort = {
  rounds: 3,
  warmUp: 0.2,
  duration: 0.8,
  queries: 30,
  importRecords: 20_000,
};
