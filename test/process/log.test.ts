import { mkdtempDisposable, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { readConfig } from '../../server/config.ts';
import { logStart } from '../../server/process/log.ts';

function logOf(settings: Record<string, string>): string {
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push(line) });
  logStart(readConfig(settings), log);
  return lines.join('');
}

test.each([
  [{ HOST: '0.0.0.0' }, true],
  [{ HOST: '0.0.0.0', PORT: '80' }, true],
  [{ HOST: '::', PORT: '80' }, true],
  [{ PORT: '0' }, true],
  [{ HOST: '0.0.0.0', PUBLIC_URL: 'https://spaces.example.org' }, false],
  [{ PUBLIC_URL: 'http://0.0.0.0' }, true],
  [{ PORT: '80' }, false],
])('warns about a public URL that clients cannot reach: %o %s', (settings, isWarned) => {
  const log = logOf({ ...settings, DATA_DIR: '/missing' });
  expect(log.includes('Set PUBLIC_URL')).toBe(isWarned);
  expect(log).not.toContain('not set');
});

test('logs whether the database exists and can be read', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'log-'));
  const DATA_DIR = folder.path;
  expect(logOf({ DATA_DIR })).toContain('"database":"new"');
  expect(logOf({ DATA_DIR: '/dev/null' })).toContain('"database":"new"');
  const file = join(DATA_DIR, 'space-service.sqlite');
  // A link to itself, because the superuser can read all files.
  await symlink(file, file);
  expect(logOf({ DATA_DIR })).toContain('"database":"unreadable"');
  const DATABASE_URL = 'postgres://no.such.host.invalid/spaces';
  expect(logOf({ DATA_DIR, DATABASE_URL })).toContain('"database":"postgresql"');
  await unlink(file);
  await writeFile(file, '');
  expect(logOf({ DATA_DIR })).toContain('"database":"found"');
});
