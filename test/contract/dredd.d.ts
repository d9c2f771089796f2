declare module 'dredd' {
  export interface Stats {
    tests: number;
    passes: number;
    failures: number;
    errors: number;
    skipped: number;
  }

  /** The part of Dredd's JavaScript interface that the contract run uses. */
  export default class Dredd {
    constructor(configuration: object);
    run(done: (error: Error | null, stats: Stats) => void): void;
  }
}
