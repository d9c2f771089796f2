import { pino } from 'pino';
import { expect, test } from 'vitest';
import { readConfig } from '../../server/config.ts';
import { logStart } from '../../server/process/log.ts';

test.each([
  [{ HOST: '0.0.0.0' }, true],
  [{ HOST: '0.0.0.0', PORT: '80' }, true],
  [{ HOST: '::', PORT: '80' }, true],
  [{ PORT: '0' }, true],
  [{ HOST: '0.0.0.0', PUBLIC_URL: 'https://spaces.example.org' }, false],
  [{ PORT: '80' }, false],
])('warns about a public URL that clients cannot reach: %o %s', (settings, isWarned) => {
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push(line) });
  logStart(readConfig({ ...settings, DATA_DIR: '/missing' }), log);
  expect(lines.join('').includes('PUBLIC_URL is not set')).toBe(isWarned);
});
