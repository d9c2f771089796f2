import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startHousekeeping } from '../../server/housekeeping.ts';
import { openOutageLog } from '../../server/system/outage-log.ts';
import { startApp } from '../support/app.ts';
import { failingEngine } from '../support/failing-engine.ts';
import { recordLog } from '../support/record-log.ts';

const WARN = 40;
const ERROR = 50;

test.each([
  ['an unavailable database as a warning', 'SQLITE_BUSY', WARN],
  ['any other failure as an error', 'SQLITE_MISUSE', ERROR],
])('Housekeeping reports %s', async (_, code, level) => {
  await using app = await startApp();
  const { config, avatars, rateLimits, engine } = app.context;
  const error = Object.assign(new Error('failed on purpose'), { code });
  const { log, lines } = recordLog<{ level: number }>();
  const outageLog = openOutageLog(log);
  const housekeeping = startHousekeeping({
    config,
    log,
    outageLog,
    engine: failingEngine(engine, () => ({ error, after: 0 })),
    avatars,
    rateLimits,
  });
  await housekeeping.run();
  await housekeeping.stop();
  outageLog.stop();
  expect(new Set(lines.map((line) => line.level))).toEqual(new Set([level]));
});

test('Housekeeping runs once at a time, and stops after the last run', async () => {
  await using app = await startApp();
  const { config, log, outageLog, engine, avatars } = app.context;
  const events: string[] = [];
  const deleteExpired = async () => {
    events.push('begin');
    await sleep(10);
    events.push('end');
  };
  const rateLimits = { deleteExpired };
  const services = { config, log, outageLog, engine, avatars, rateLimits };
  // Begins the first run.
  const housekeeping = startHousekeeping(services);
  void housekeeping.run();
  void housekeeping.run();
  await housekeeping.stop();
  expect(events).toEqual(['begin', 'end', 'begin', 'end', 'begin', 'end']);
});
