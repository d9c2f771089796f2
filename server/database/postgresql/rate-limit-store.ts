import { RateLimiterPostgres } from 'rate-limiter-flexible';
import type { StopDeadline } from '../kind.ts';
import type { RateLimitStore } from '../rate-limit-store.ts';
import { openPool } from './pool.ts';

const MAX_CONNECTIONS = 4;

/** Opens the rate-limit counters. They share one table, which a migration creates. */
export function openPostgresqlRateLimitStore(
  url: string,
  stopDeadline?: StopDeadline,
): RateLimitStore {
  const pool = openPool(url, { maxConnections: MAX_CONNECTIONS, stopDeadline });
  return {
    async openCounter(name, points, duration) {
      return new RateLimiterPostgres({
        storeClient: pool,
        storeType: 'pool',
        tableName: 'rate_limits',
        tableCreated: true,
        keyPrefix: name,
        points,
        duration,
        // The store's owner calls `deleteExpired`.
        clearExpiredByTimeout: false,
      });
    },
    async deleteExpired() {
      await pool.query('DELETE FROM rate_limits WHERE expire < $1', [Date.now()]);
    },
    close: () => pool.end(),
  };
}
