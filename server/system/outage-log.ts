import type { FastifyBaseLogger } from 'fastify';

/** Time between two lines about an outage. It has ended after this time without failures. */
const LOG_INTERVAL_MS = 60_000;

/** A resource that requests and housekeeping use, and that can be unavailable. */
export type Resource = (typeof RESOURCES)[number];
export const RESOURCES = ['database', 'avatar storage'] as const;

/**
 * Logs outages at a bounded rate, because each failed request would log the same line: the first failure at once, the
 * number of further ones every minute, and the end after a minute without failures.
 */
export interface OutageLog {
  /** @param log the logger of the failed request, if any */
  report(resource: Resource, err: unknown, log?: FastifyBaseLogger): void;
  /** Whether the resource has failed, and there has not been a minute without failures since. */
  isFailing(resource: Resource): boolean;
  /** Cancels pending lines. */
  stop(): void;
}

interface Outage {
  failures: number;
  unloggedFailures: number;
  lastError: unknown;
  timer: NodeJS.Timeout;
}

export function openOutageLog(mainLog: FastifyBaseLogger): OutageLog {
  const outages = new Map<Resource, Outage>();

  const logProgress = (resource: Resource, outage: Outage) => {
    const { failures, unloggedFailures, lastError } = outage;
    if (unloggedFailures === 0) {
      clearInterval(outage.timer);
      outages.delete(resource);
      mainLog.info({ failures }, `the ${resource} has not failed for a minute`);
    } else {
      outage.unloggedFailures = 0;
      mainLog.warn(
        { err: lastError, failures: unloggedFailures },
        `the ${resource} was unavailable in the last minute`,
      );
    }
  };

  return {
    report(resource, err, log = mainLog) {
      const outage = outages.get(resource);
      if (outage) {
        outage.failures += 1;
        outage.unloggedFailures += 1;
        outage.lastError = err;
        return;
      }
      log.warn({ err }, `the ${resource} is unavailable`);
      const timer = setInterval(() => logProgress(resource, begun), LOG_INTERVAL_MS).unref();
      const begun: Outage = { failures: 1, unloggedFailures: 0, lastError: err, timer };
      outages.set(resource, begun);
    },
    isFailing: (resource) => outages.has(resource),
    stop() {
      for (const { timer } of outages.values()) clearInterval(timer);
    },
  };
}
