import { join } from 'node:path';
import type { FastifyBaseLogger } from 'fastify';
import { openAvatarFolder } from './avatars/folder-store.ts';
import type { AvatarStore } from './avatars/store.ts';
import type { Config } from './config.ts';
import type { Engine } from './database/engine.ts';
import { openDatabase } from './database/open.ts';
import { type Metrics, openMetrics } from './metrics/registry.ts';
import { type Housekeeping, startHousekeeping } from './process/housekeeping.ts';
import { openRateLimits, type RateLimits } from './rate-limits/rate-limits.ts';
import { openRecentAnswers, type RecentAnswers } from './search/recent-responses.ts';

/** What the application works with. Built once, and closed with `await using`. */
export interface Context extends AsyncDisposable {
  config: Config;
  log: FastifyBaseLogger;
  engine: Engine;
  avatars: AvatarStore;
  rateLimits: RateLimits;
  metrics: Metrics;
  housekeeping: Housekeeping;
  recentAnswers: RecentAnswers;
}

/**
 * @param maintains whether this process keeps the database's files in order: one process a database
 */
export async function openContext(
  config: Config,
  log: FastifyBaseLogger,
  { maintains = true }: { maintains?: boolean } = {},
): Promise<Context> {
  await using opened = new AsyncDisposableStack();
  const engine = opened.use(await openDatabase(config, { maintains }));
  const avatars = await openAvatarFolder(join(config.dataDir, 'avatars'));
  const rateLimits = opened.adopt(await openRateLimits(config), (each) => each.close());
  const metrics = openMetrics(config, engine);
  const housekeeping = opened.adopt(
    startHousekeeping({ config, log, engine, avatars, rateLimits }),
    (each) => each.stop(),
  );
  const disposal = opened.move();
  return {
    ...{ config, log, engine, avatars, rateLimits, metrics, housekeeping },
    recentAnswers: openRecentAnswers(),
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  };
}
