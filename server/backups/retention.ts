import type { BackupPeriod, BackupRule } from '../config.ts';

const DAY_MS = 24 * 3_600_000;
/** 1970-01-01 was a Thursday, and weeks begin on Monday. */
const EPOCH_WEEKDAY = 3;

/** Returns a value that all times in the same period have. Periods begin in UTC. */
export function periodOf(time: Date, period: BackupPeriod): string {
  const iso = time.toISOString();
  switch (period) {
    case 'hourly':
      return iso.slice(0, 13);
    case 'daily':
      return iso.slice(0, 10);
    case 'weekly':
      return String(Math.floor((time.getTime() / DAY_MS + EPOCH_WEEKDAY) / 7));
    case 'monthly':
      return iso.slice(0, 7);
    case 'yearly':
      return iso.slice(0, 4);
  }
}

/**
 * Returns the times of the backups that the rules keep: for each rule, the last one of each of the most recent periods
 * with backups. So a service that has been off does not lose its backups.
 * @param times in any order
 */
export function keptBackups(times: readonly Date[], rules: readonly BackupRule[]): Set<Date> {
  const newestFirst = [...times].sort((a, b) => b.getTime() - a.getTime());
  const kept = new Set<Date>();
  for (const { period, count } of rules) {
    const periods = new Set<string>();
    for (const time of newestFirst) {
      const value = periodOf(time, period);
      if (periods.size < count && !periods.has(value)) kept.add(time);
      periods.add(value);
    }
  }
  return kept;
}
