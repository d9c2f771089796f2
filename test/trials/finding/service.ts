import { rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp } from '../../support/app.ts';
import { pipeToImport } from '../../support/import.ts';
import { streamPackages } from './corpus.ts';

const IDLE_CHECK_INTERVAL_MS = 500;
const MAX_IDLE_CHECKS = 600;

/** The service, or another search engine with the same titles and descriptions. */
export interface SearchEngine extends AsyncDisposable {
  /** Returns the titles of the first `limit` results. */
  search(text: string, limit: number): Promise<string[]>;
}

/**
 * Imports a package list with `npm run import` into a new data folder.
 * @throws Error if the import fails; the folder then does not exist
 */
export async function importPackages(file: string, dataDir: string): Promise<void> {
  // Resolved, because a trailing slash would place the unfinished folder in the new one.
  const unfinished = `${resolve(dataDir)}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await pipeToImport({ DATA_DIR: unfinished }, streamPackages(file));
  await rename(unfinished, dataDir);
}

/** Opens the application with a data folder in this thread. Searches use its HTTP route. */
export async function openService(dataDir: string): Promise<SearchEngine> {
  const service = await startApp({ DATA_DIR: dataDir });
  await waitUntilIdle();
  return {
    async search(text, limit) {
      const { statusCode, body } = await service.app.inject({
        url: '/api/spaces/search',
        query: { q: text, limit: String(limit) },
      });
      if (statusCode !== 200) throw new Error(`The search for ${text} got ${statusCode}: ${body}`);
      return (JSON.parse(body) as { title: string }[]).map(({ title }) => title);
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** Waits until background work such as merging the index has ended. Returns after five minutes at the latest. */
async function waitUntilIdle(): Promise<void> {
  for (let idle = 0, checks = 0; idle < 4 && checks < MAX_IDLE_CHECKS; checks += 1) {
    const before = process.cpuUsage();
    await sleep(IDLE_CHECK_INTERVAL_MS);
    const { user, system } = process.cpuUsage(before);
    idle = (user + system) / 1000 < IDLE_CHECK_INTERVAL_MS / 10 ? idle + 1 : 0;
  }
}
