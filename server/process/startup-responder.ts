import { Worker } from 'node:worker_threads';
import type { Config } from '../config.ts';

/** Where the service is going to listen. */
export type Address = Pick<Config, 'host' | 'port'>;

/**
 * Does what has to be done before the service can listen, such as a migration. Meanwhile, a thread answers in its
 * place, for this one may be busy: `/healthz` with 200, all else with 503.
 */
export async function whileStarting<T>(
  { host, port }: Address,
  work: () => Promise<T>,
): Promise<T> {
  const thread = new Worker(new URL('./startup-responder-thread.ts', import.meta.url), {
    workerData: { host, port } satisfies Address,
  });
  try {
    return await work();
  } finally {
    await thread.terminate();
  }
}
