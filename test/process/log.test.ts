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

const WARNING = 'Set PUBLIC_URL';

test.each<Record<string, string>>([
  { HOST: '0.0.0.0' },
  { HOST: '0.0.0.0', PORT: '80' },
  { HOST: '::', PORT: '80' },
  { PORT: '0' },
  { PUBLIC_URL: 'http://0.0.0.0' },
])('warns that clients cannot reach the public URL with %o', (settings) => {
  expect(logOf({ ...settings, DATA_DIR: '/missing' })).toContain(WARNING);
});

test.each<Record<string, string>>([
  { HOST: '0.0.0.0', PUBLIC_URL: 'https://spaces.example.org' },
  { PORT: '80' },
])('does not warn about the public URL with %o', (settings) => {
  expect(logOf({ ...settings, DATA_DIR: '/missing' })).not.toContain(WARNING);
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
