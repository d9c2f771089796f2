import { join } from 'node:path';
import type { FastifyBaseLogger } from 'fastify';
import { openAvatarFolder } from './avatars/folder-store.ts';
import type { AvatarStore } from './avatars/store.ts';
import type { Config } from './config.ts';
import type { Engine } from './database/engine.ts';
import { openDatabase } from './database/open.ts';
import { readCursorKey } from './database/secrets.ts';
import { type Limits, openLimits } from './http/rate-limits.ts';
import { type Metrics, openMetrics } from './metrics/registry.ts';
import { type Housekeeping, startHousekeeping } from './process/housekeeping.ts';
import { tasksModule } from './process/tasks.ts';
import { updateSearchIndex } from './search/documents.ts';
import { openSearchState, type SearchState } from './search/search-state.ts';

/** What the application works with. Built once, and closed with `await using`. */
export interface Context extends AsyncDisposable {
  config: Config;
  log: FastifyBaseLogger;
  engine: Engine;
  avatars: AvatarStore;
  limits: Limits;
  metrics: Metrics;
  housekeeping: Housekeeping;
  search: SearchState;
  /** See `http/cursors.ts`. */
  cursorKey: Uint8Array;
}

/**
 * @param runsMaintenance whether this process keeps the database's files in order. Only one process per database should.
 */
export async function openContext(
  config: Config,
  log: FastifyBaseLogger,
  { runsMaintenance = true }: { runsMaintenance?: boolean } = {},
): Promise<Context> {
  await using opened = new AsyncDisposableStack();
  const engine = opened.use(await openDatabase(config, { runsMaintenance, tasksModule }));
  if (runsMaintenance) {
    await updateSearchIndex(engine, (spaces) =>
      log.info({ spaces }, 'rebuilding the search index'),
    );
  }
  const avatars = await openAvatarFolder(join(config.dataDir, 'avatars'), config.avatarBase);
  const limits = opened.adopt(await openLimits(config), (each) => each.close());
  const metrics = openMetrics(config, engine);
  const housekeeping = opened.adopt(
    startHousekeeping({ config, log, engine, avatars, limits }),
    (each) => each.stop(),
  );
  const cursorKey = await readCursorKey(engine);
  const disposal = opened.move();
  return {
    config,
    log,
    engine,
    avatars,
    limits,
    metrics,
    housekeeping,
    search: openSearchState(),
    cursorKey,
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  };
}
