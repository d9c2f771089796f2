import { existsSync } from 'node:fs';
import {
  cp,
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
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ada } from '../import-export/records.ts';
import { startApp } from '../support/app.ts';
import { runCommand } from '../support/commands.ts';
import { databaseFile } from '../support/integrity.ts';
import { toNdjson } from '../support/ndjson.ts';

let imported: string;
beforeAll(async () => {
  imported = await mkdtemp(join(tmpdir(), 'imported-'));
  await runCommand('import', ['-'], { DATA_DIR: imported }, toNdjson([ada]));
});
afterAll(() => rm(imported, { recursive: true }));

let folder: string;
let DATA_DIR: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'output-files-'));
  DATA_DIR = join(folder, 'data');
  await cp(imported, DATA_DIR, { recursive: true });
});
afterEach(() => rm(folder, { recursive: true }));

const commands = ['backup', 'export'] as const;
const write = (command: string, file: string, dataDir = DATA_DIR) =>
  runCommand(command, [file], { DATA_DIR: dataDir });

/** Runs a command that must fail with one line, and returns the line. */
const refuse = async (command: string, file: string, dataDir = DATA_DIR) => {
  const { code, stderr } = await write(command, file, dataDir);
  expect({ code, lines: stderr.trim().split('\n').length }, stderr).toEqual({ code: 1, lines: 1 });
  return stderr;
};

const exported = async (dataDir: string) =>
  (await runCommand('export', [], { DATA_DIR: dataDir })).stdout;

describe.each(commands)('%s', (command) => {
  test('rejects every file in the data folder while the server runs, however it is named', async () => {
    await using app = await startApp({ DATA_DIR, RATE_LIMITS: 'on' });
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
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200);
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
    await runCommand('import', ['-'], { DATA_DIR: other }, '');
    for (const file of [hardLink, databaseFile(other)]) {
      const before = await stat(file);
      await refuse(command, file);
      expect((await stat(file)).ino).toBe(before.ino);
    }
    await using _app = await startApp({ DATA_DIR: other });
    const names = [
      'space-service.sqlite-wal',
      'space-service.lock',
      'new-file',
      'avatars/new-file',
    ];
    for (const name of names) {
      expect(await refuse(command, join(other, name))).toContain('data folder');
    }
  });

  test('rejects a restored backup that a server has used', async () => {
    const restored = join(folder, 'restored');
    await mkdir(restored);
    expect(await write('backup', databaseFile(restored))).toMatchObject({ code: 0 });
    await (await startApp({ DATA_DIR: restored }))[Symbol.asyncDispose]();
    const away = join(folder, 'away');
    await link(databaseFile(restored), away);
    await refuse(command, away);
    await using _app = await startApp({ DATA_DIR: restored });
    await refuse(command, away);
    await refuse(command, databaseFile(restored));
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
      `${databaseFile(DATA_DIR)} is damaged. Run check-database, which says what to do.\n`,
    );
    expect(await readdir(folder)).toEqual(['data']);
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
});
