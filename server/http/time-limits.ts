/** The time limits of connections and requests, in milliseconds. */
export interface TimeLimits {
  /** Maximum time for the request line and headers to arrive. */
  headersTimeoutMs: number;
  /** Maximum time for a whole request to arrive. */
  requestTimeoutMs: number;
  /** Maximum time without any data on a connection while a request is received, processed or answered. */
  inactivityTimeoutMs: number;
  /** Interval between checks of the two timeouts for arriving requests. */
  connectionCheckIntervalMs: number;
  /** Maximum time for pending requests to finish once the server no longer listens. */
  closeTimeoutMs: number;
}

export const TIME_LIMITS: TimeLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  inactivityTimeoutMs: 120_000,
  // Headers and requests time out up to this much later. Node's default is 30 s.
  connectionCheckIntervalMs: 1_000,
  closeTimeoutMs: 7_000,
};
