import type { FastifyBaseLogger } from 'fastify';
import type { Config } from '../config.ts';
import type { StopDeadline } from '../database/kind.ts';
import { TIME_LIMITS } from '../http/time-limits.ts';

/** Time to send 503 to pending requests before their connections are closed. */
const RESPONSE_MARGIN_MS = 1_000;

/** Limits how long a process waits for its database while it stops. */
export class ProcessStopDeadline implements StopDeadline {
  readonly #log: FastifyBaseLogger;
  readonly #controller = new AbortController();
  #isMissed = false;

  constructor(log: FastifyBaseLogger) {
    this.#log = log;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Call it when the process begins to stop. */
  start({ drainSeconds }: Pick<Config, 'drainSeconds'>): void {
    const timeoutMs = drainSeconds * 1000 + TIME_LIMITS.closeTimeoutMs - RESPONSE_MARGIN_MS;
    setTimeout(() => this.#controller.abort(), timeoutMs).unref();
  }

  onMissed(): void {
    if (this.#isMissed) return;
    this.#isMissed = true;
    this.#log.error(
      'the database did not respond in time, so its connections were closed; pending requests get 503',
    );
  }

  get exitCode(): number {
    return this.#isMissed ? 1 : 0;
  }
}
