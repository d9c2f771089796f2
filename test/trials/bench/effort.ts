/** The amount of work of a run. */
export interface Effort {
  rounds: number;
  /** Seconds of warm-up per round. */
  warmUp: number;
  /** Seconds of measurement per round. */
  duration: number;
  /** Number of individually timed queries per class. Some measurements use three times as many. */
  queries: number;
  /** Number of records in the timed import. */
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
