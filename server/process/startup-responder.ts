import { Worker } from 'node:worker_threads';
import type { Config } from '../config.ts';

/** The settings that the thread needs. */
export interface StartupConfig
  extends Pick<Config, 'host' | 'port' | 'corsOrigins'>,
    Partial<Pick<Config, 'watchdogMs'>> {
  /** Whether workers listen on the same port meanwhile. */
  reusePort?: boolean;
}

/**
 * Runs work that must be done before the service can listen, such as a migration.
 *
 * Meanwhile, a thread responds to `/healthz` with 200, to OPTIONS with 204 and to everything else with 503. It is a
 * thread because the work may block the event loop.
 */
export async function respondWhileStarting<T>(
  { host, port, corsOrigins, watchdogMs = null, reusePort = false }: StartupConfig,
  work: () => Promise<T>,
): Promise<T> {
  const thread = new Worker(new URL('./startup-responder-thread.ts', import.meta.url), {
    workerData: { host, port, corsOrigins, watchdogMs, reusePort } satisfies StartupConfig,
  });
  // The work continues without the thread.
  thread.on('error', (error: Error) => process.emitWarning(error));
  try {
    return await work();
  } finally {
    await thread.terminate();
  }
}
