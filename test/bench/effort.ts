/** How much is measured. */
export interface Effort {
  rounds: number;
  /** In seconds, of each round. */
  warmUp: number;
  /** In seconds, of each round. */
  duration: number;
  /** How many queries of a class are timed one by one. */
  queries: number;
  /** Records in the file whose import is timed. */
  importRecords: number;
}

export const FULL: Effort = {
  ...{ rounds: 5, warmUp: 1, duration: 3 },
  ...{ queries: 100, importRecords: 400_000 },
};

export const QUICK: Effort = {
  ...{ rounds: 3, warmUp: 0.2, duration: 0.8 },
  ...{ queries: 30, importRecords: 20_000 },
};
