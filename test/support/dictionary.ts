import { setTimeout as sleep } from 'node:timers/promises';
import type { TestApp } from './app.ts';

const TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 10;

/** Waits until maintenance has built the search dictionary from the current spaces. */
export async function waitForDictionary({ context }: Pick<TestApp, 'context'>): Promise<void> {
  const { db } = context.engine;
  const deadline = performance.now() + TIMEOUT_MS;
  while (true) {
    const row = await db
      .selectFrom(['dictionary', 'search_revision'])
      .select(['built_revision', 'value as revision'])
      .executeTakeFirstOrThrow();
    if (row.built_revision >= row.revision) return;
    if (performance.now() > deadline) {
      throw new Error(`The dictionary is outdated: ${JSON.stringify(row)}`);
    }
    await sleep(POLL_INTERVAL_MS);
  }
}
