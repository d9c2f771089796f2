import { existsSync } from 'node:fs';
import {
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ada } from '../exchange/records.ts';
import { runCommand, startCommand } from '../support/commands.ts';
import { databaseFile } from '../support/integrity.ts';
import { toNdjson } from '../support/ndjson.ts';
import { preload, startProcess } from '../support/processes.ts';
import { startServer } from '../support/server.ts';

let folder: string;
let DATA_DIR: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'output-files-'));
  DATA_DIR = join(folder, 'data');
  await runCommand('commands/import', ['-'], { DATA_DIR }, toNdjson([ada]));
});
afterEach(() => rm(folder, { recursive: true }));

const commands = ['backup', 'export'] as const;
const write = (command: string, file: string, dataDir = DATA_DIR) =>
  runCommand(`commands/${command}`, [file], { DATA_DIR: dataDir });

/** Adds enough data that a command writes for some time. */
const importLargeSpace = async () => {
  const space = { type: 'space', space_id: 'bread', creator_id: 'ada', title: 'Bread' };
  const message = { type: 'message', space_id: 'bread', author_id: 'ada' };
  const records: object[] = [space];
  for (let i = 0; i < 40_000; i += 1)
    records.push({ ...message, text: `${i}${'x'.repeat(1_900)}` });
  const lines = toNdjson(records);
  expect(await runCommand('commands/import', ['-'], { DATA_DIR }, lines)).toMatchObject({
    code: 0,
  });
};

/**
 * Returns a script that sends a signal to its process once the process has written a part of a temporary file. On a
 * busy machine, the signal of another process could come after the end of the command.
 */
const sendSignalHalfWay = (signal: NodeJS.Signals) => `
  import { readdirSync, statSync } from 'node:fs';
  import { join } from 'node:path';
  import { isMainThread } from 'node:worker_threads';
  const folder = ${JSON.stringify(folder)};
  const isHalfWay = () =>
    readdirSync(folder).some(
      (name) =>
        name.endsWith('.part') &&
        statSync(join(folder, name), { throwIfNoEntry: false })?.size > 1_000_000,
    );
  const send = () => isHalfWay() && process.kill(process.pid, '${signal}');
  if (isMainThread) setInterval(send, 1).unref();`;

/** Runs a command that must fail with one line, and returns the line. */
const refuse = async (command: string, file: string, dataDir = DATA_DIR) => {
  const { code, stderr } = await write(command, file, dataDir);
  expect({ code, lines: stderr.trim().split('\n').length }, stderr).toEqual({ code: 1, lines: 1 });
  return stderr;
};

const exported = async (dataDir: string) =>
  (await runCommand('commands/export', [], { DATA_DIR: dataDir })).stdout;

describe.each(commands)('%s', (command) => {
  test('rejects every file in the data folder while the server runs, however it is named', async () => {
    await using server = await startServer({ DATA_DIR, RATE_LIMITS: 'on' });
    const before = await readdir(DATA_DIR);
    const alias = join(folder, 'alias');
    await symlink(DATA_DIR, alias);
    const file = databaseFile(DATA_DIR);
    const paths = [
      file,
      relative(process.cwd(), file),
      join(alias, 'space-service.sqlite'),
      `${file}-wal`,
      join(DATA_DIR, 'limits.sqlite'),
      join(DATA_DIR, 'new-file'),
    ];
    for (const path of paths) {
      expect(await refuse(command, path)).toBe(
        `${path} is in DATA_DIR. Choose a file outside of it.\n`,
      );
    }
    expect(await readdir(DATA_DIR)).toEqual(before);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    expect(await server.stop()).toBe(0);
    expect(await exported(DATA_DIR)).toContain('ada@example.com');
  });

  test('rejects files in the folder of avatars', async () => {
    await mkdir(join(DATA_DIR, 'avatars'));
    await refuse(command, join(DATA_DIR, 'avatars', 'copy'));
    expect(await readdir(join(DATA_DIR, 'avatars'))).toEqual([]);
  });

  test('rejects a hard link to the live database, and the database of another service', async () => {
    const hardLink = join(folder, 'link');
    await link(databaseFile(DATA_DIR), hardLink);
    const other = join(folder, 'other');
    await runCommand('commands/import', ['-'], { DATA_DIR: other }, '');
    for (const file of [hardLink, databaseFile(other)]) {
      const before = await stat(file);
      await refuse(command, file);
      expect((await stat(file)).ino).toBe(before.ino);
    }
    await using server = await startServer({ DATA_DIR: other });
    const names = [
      'space-service.sqlite-wal',
      'space-service.lock',
      'new-file',
      'avatars/new-file',
    ];
    for (const name of names) {
      expect(await refuse(command, join(other, name))).toContain('data folder');
    }
    expect(await server.stop()).toBe(0);
  });

  test('rejects a restored backup that a server has used', async () => {
    const restored = join(folder, 'restored');
    await mkdir(restored);
    expect(await write('backup', databaseFile(restored))).toMatchObject({ code: 0 });
    await (await startServer({ DATA_DIR: restored })).stop();
    const away = join(folder, 'away');
    await link(databaseFile(restored), away);
    await refuse(command, away);
    await using server = await startServer({ DATA_DIR: restored });
    await refuse(command, away);
    await refuse(command, databaseFile(restored));
    expect(await server.stop()).toBe(0);
  });

  test('rejects any other file, and names what may be replaced', async () => {
    const file = join(folder, 'notes');
    for (const content of ['notes', 'SQLite format 3\0', '{"type":"note"}', ' ']) {
      await writeFile(file, content);
      expect(await refuse(command, file)).toContain(`${file} exists and is not`);
      expect(await readFile(file, 'utf8')).toBe(content);
    }
    new Sqlite(join(folder, 'other.sqlite')).exec('CREATE TABLE notes (text)').close();
    await refuse(command, join(folder, 'other.sqlite'));
  });

  test('replaces an empty file and its own earlier output', async () => {
    const file = join(folder, 'kept');
    await writeFile(file, '');
    for (let i = 0; i < 3; i += 1) expect(await write(command, file)).toMatchObject({ code: 0 });
    expect(await readFile(file, 'utf8')).toContain('ada@example.com');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readdir(folder)).sort()).toEqual(['data', 'kept']);
  });

  test('succeeds if it runs several times concurrently with the same file', async () => {
    const file = join(folder, 'shared');
    const results = await Promise.all([1, 2, 3].map(() => write(command, file)));
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect((await readdir(folder)).sort()).toEqual(['data', 'shared']);
    expect(await readFile(file, 'utf8')).toContain('ada@example.com');
  });

  test('does not use an existing temporary file', async () => {
    const file = join(folder, 'out');
    const victim = join(folder, 'victim');
    await writeFile(victim, 'the content of another program');
    await symlink(victim, `${file}.part`);
    expect(await write(command, file)).toMatchObject({ code: 0 });
    expect(await readFile(victim, 'utf8')).toBe('the content of another program');

    await rm(`${file}.part`);
    await writeFile(`${file}.part`, '', { mode: 0o644 });
    expect(await write(command, file)).toMatchObject({ code: 0 });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(existsSync(`${file}.part`)).toBe(true);
  });

  test('reports a damaged database by its name', async () => {
    // The first page with the address has the rows of users, because the pages of their indexes follow.
    const bytes = await readFile(databaseFile(DATA_DIR));
    const page = Math.floor(bytes.indexOf('ada@example.com') / 4096);
    await writeFile(databaseFile(DATA_DIR), bytes.fill(0xff, page * 4096, (page + 1) * 4096));
    expect(await refuse(command, join(folder, 'copy'))).toBe(
      `${databaseFile(DATA_DIR)} is damaged. Restore it from a backup.\n`,
    );
    expect(await readdir(folder)).toEqual(['data']);
  });

  test('leaves no file when a signal stops it half way', async () => {
    await importLargeSpace();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      const settings = { DATA_DIR, ...preload(sendSignalHalfWay(signal)) };
      await using running = startCommand(`commands/${command}`, [join(folder, 'copy')], settings);
      expect(await running.exited).toBe(signal);
      expect(await readdir(folder)).toEqual(['data']);
    }
  });

  test('names the file that cannot be written', async () => {
    const file = join(folder, 'missing', 'copy');
    expect(await refuse(command, file)).toBe(
      `${file} cannot be written. The folder ${join(folder, 'missing')} does not exist.\n`,
    );
    await writeFile(join(folder, 'notes'), '');
    const inFile = join(folder, 'notes', 'copy');
    expect(await refuse(command, inFile)).toContain(`${inFile} cannot be written. ENOTDIR`);
  });
});

describe('backup', () => {
  test('keeps the earlier backup if the database is empty or belongs to another program', async () => {
    const file = join(folder, 'copy');
    expect(await write('backup', file)).toMatchObject({ code: 0 });
    const backup = await readFile(file);
    const other = join(folder, 'other');
    await mkdir(other);
    await writeFile(databaseFile(other), '');
    expect(await refuse('backup', file, other)).toContain(`${databaseFile(other)} is empty.`);
    expect((await stat(databaseFile(other))).size).toBe(0);

    const notes = new Sqlite(databaseFile(other));
    notes.exec('CREATE TABLE notes (text TEXT)');
    notes.close();
    const before = await readFile(databaseFile(other));
    expect(await refuse('backup', file, other)).toContain('is the database of another program');
    expect(await readFile(databaseFile(other))).toEqual(before);
    expect(await readFile(file)).toEqual(backup);
  });

  test('rejects a file beside the write-ahead log of another database', async () => {
    const file = join(folder, 'copy');
    await writeFile(`${file}-wal`, 'changes');
    expect(await refuse('backup', file)).toContain(`${file}-wal`);
  });

  test('reports a full disk by the name of the copy', async () => {
    const script = 'ulimit -f 64; exec node --import ./server/process/preload.js "$0" "$1"';
    const file = join(folder, 'copy');
    const args = ['-c', script, 'server/commands/backup.ts', file];
    await using running = startProcess('sh', args, { DATA_DIR });
    const { code, stderr } = await running.result;
    expect(code).toBe(1);
    expect(stderr).toContain(`${file}.`);
    expect(stderr).toContain('its disk is full or failing');
    expect(stderr).not.toContain('space-service.sqlite');
    expect(await readdir(folder)).toEqual(['data']);
  });
});
