import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type OutageLog, openOutageLog } from '../../server/system/outage-log.ts';
import { recordLog } from '../support/record-log.ts';

interface Line {
  level: number;
  msg: string;
  failures?: number;
  err?: { message: string };
}

let lines: Line[];
let outageLog: OutageLog;
beforeEach(() => {
  vi.useFakeTimers();
  const recorded = recordLog<Line>();
  lines = recorded.lines;
  outageLog = openOutageLog(recorded.log);
});
afterEach(() => {
  outageLog.stop();
  vi.useRealTimers();
});

/** Returns the lines since the last call. */
const readLines = () =>
  lines.splice(0).map(({ level, msg, failures, err }) => ({
    level,
    msg,
    ...(failures !== undefined && { failures }),
    ...(err && { reason: err.message }),
  }));

test('logs the beginning of an outage, the number of failures every minute, and the end', () => {
  for (let i = 1; i <= 1_000; i += 1) outageLog.report('database', new Error(`failure ${i}`));
  expect(readLines()).toEqual([
    { level: 40, msg: 'the database is unavailable', reason: 'failure 1' },
  ]);
  vi.advanceTimersByTime(60_000);
  const again = { level: 40, msg: 'the database was unavailable in the last minute' };
  expect(readLines()).toEqual([{ ...again, failures: 999, reason: 'failure 1000' }]);
  outageLog.report('database', new Error('last failure'));
  vi.advanceTimersByTime(60_000);
  expect(readLines()).toEqual([{ ...again, failures: 1, reason: 'last failure' }]);
  vi.advanceTimersByTime(60_000);
  expect(readLines()).toEqual([
    { level: 30, msg: 'the database has not failed for a minute', failures: 1_001 },
  ]);
  vi.advanceTimersByTime(600_000);
  expect(readLines()).toEqual([]);
});

test('logs a second outage like the first one', () => {
  outageLog.report('database', new Error('first'));
  vi.advanceTimersByTime(60_000);
  outageLog.report('database', new Error('second'));
  expect(readLines().map(({ msg, reason }) => reason ?? msg)).toEqual([
    'first',
    'the database has not failed for a minute',
    'second',
  ]);
});

test('logs outages of the database and of the avatar storage separately', () => {
  outageLog.report('database', new Error('database'));
  outageLog.report('avatar storage', new Error('avatars'));
  outageLog.report('database', new Error('database'));
  expect(readLines().map(({ msg }) => msg)).toEqual([
    'the database is unavailable',
    'the avatar storage is unavailable',
  ]);
});

test('reports a resource as failing until a minute without failures', () => {
  const isFailing = () => outageLog.isFailing('database');
  expect(isFailing()).toBe(false);
  outageLog.report('database', new Error('first'));
  expect(isFailing()).toBe(true);
  expect(outageLog.isFailing('avatar storage')).toBe(false);
  vi.advanceTimersByTime(59_000);
  outageLog.report('database', new Error('last'));
  vi.advanceTimersByTime(60_000);
  expect(isFailing()).toBe(true);
  vi.advanceTimersByTime(60_000);
  expect(isFailing()).toBe(false);
});
