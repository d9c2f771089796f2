import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keptBackups, periodOf } from '../../server/backups/retention.ts';
import { BACKUP_PERIODS, type BackupRule } from '../../server/config.ts';

const DAY_MS = 24 * 3_600_000;

/** Returns one time for each day before 2026-11-23, a Monday, the newest first. */
const daysBefore = (count: number) =>
  Array.from({ length: count }, (_, i) => new Date(Date.parse('2026-11-23T00:10Z') - i * DAY_MS));

const keptDays = (times: Date[], rules: BackupRule[]) =>
  [...keptBackups(times, rules)].map((time) => time.toISOString().slice(0, 10)).sort();

test('keeps the last backups of days and of weeks, which begin on Monday', () => {
  const rules: BackupRule[] = [
    { period: 'daily', count: 3 },
    { period: 'weekly', count: 3 },
  ];
  expect(keptDays(daysBefore(60), rules)).toEqual([
    '2026-11-15',
    '2026-11-21',
    '2026-11-22',
    '2026-11-23',
  ]);
});

test('keeps the last backups of months and years', () => {
  expect(keptDays(daysBefore(400), [{ period: 'monthly', count: 3 }])).toEqual([
    '2026-09-30',
    '2026-10-31',
    '2026-11-23',
  ]);
  expect(keptDays(daysBefore(400), [{ period: 'yearly', count: 9 }])).toEqual([
    '2025-12-31',
    '2026-11-23',
  ]);
});

test('counts only periods with backups, so a pause deletes nothing', () => {
  const old = daysBefore(3).map((time) => new Date(time.getTime() - 500 * DAY_MS));
  expect(keptBackups(old, [{ period: 'daily', count: 3 }]).size).toBe(3);
});

test('always keeps the newest backup, and as many as a rule says if there are that many periods', () => {
  const rule = fc.record({
    period: fc.constantFrom(...BACKUP_PERIODS),
    count: fc.integer({ min: 1, max: 9 }),
  });
  const dates = fc.array(
    fc.date({ min: new Date('2020-01-01'), max: new Date('2027-01-01'), noInvalidDate: true }),
    { minLength: 1 },
  );
  fc.assert(
    fc.property(dates, fc.array(rule, { minLength: 1, maxLength: 4 }), (times, rules) => {
      const kept = [...keptBackups(times, rules)];
      const newest = Math.max(...times.map(Number));
      expect(kept.map(Number)).toContain(newest);
      for (const { period, count } of rules) {
        const periods = new Set(times.map((time) => periodOf(time, period))).size;
        const keptPeriods = new Set(kept.map((time) => periodOf(time, period))).size;
        expect(keptPeriods).toBeGreaterThanOrEqual(Math.min(count, periods));
      }
    }),
  );
});
