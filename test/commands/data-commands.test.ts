import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { eraseAccount } from '../../server/account-lifecycle/deletion.ts';
import { openDatabase } from '../../server/database/open.ts';
import { insertSession } from '../database/users.ts';
import { startApp } from '../support/app.ts';
import { runCommand } from '../support/commands.ts';
import { damageTable } from '../support/damage.ts';
import { withDatabase } from '../support/integrity.ts';
import { toNdjson } from '../support/ndjson.ts';
import { freePort } from '../support/ports.ts';
import type { ProcessResult } from '../support/processes.ts';

/** The tests build on each other: the first one imports `records` into `data`, and the others use them. */
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commands-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs a command on the data folder of these tests. */
const run = (
  name: string,
  args: string[] = [],
  settings: Record<string, string> = {},
  ...input: [input?: string, options?: { isTerminal: boolean }]
): Promise<ProcessResult> =>
  runCommand(name, args, { DATA_DIR: join(folder, 'data'), ...settings }, ...input);

const records = [
  {
    type: 'user',
    user_id: 'ada',
    username: 'ada',
    email: 'ada@example.com',
    created_at: '2026-01-01T00:00:00.000Z',
  },
  {
    type: 'space',
    space_id: 'bread',
    creator_id: 'ada',
    title: 'Bread',
    created_at: '2026-01-01T00:00:00.000Z',
  },
];
const lines = toNdjson(records);

describe('import and export', () => {
  test('read and write files and standard streams', async () => {
    const file = join(folder, 'in.ndjson');
    await writeFile(file, lines);
    const first = await run('import', [file]);
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('2 records added') });
    const second = await run('import', ['-'], {}, lines);
    expect(second.stdout).toContain('0 records added, 2 were there already, 0 bad lines skipped');

    const out = join(folder, 'out.ndjson');
    expect(await run('export', [out])).toMatchObject({ code: 0, stdout: '' });
    const piped = await run('export');
    expect(await readFile(out, 'utf8')).toBe(piped.stdout);
    const exported = piped.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(exported).toMatchObject([
      ...records,
      { type: 'participant', space_id: 'bread', user_id: 'ada' },
    ]);
  });

  test('reject a file with an invalid line and report its number', async () => {
    const { code, stderr } = await run('import', ['-'], {}, `${lines}nonsense\n`);
    expect(code).toBe(1);
    expect(stderr).toContain('line 3: is not JSON');
    expect(stderr).toContain('--skip-bad');
  });
});

describe('a backup', () => {
  test.each(['export', 'backup'])(
    'by %s of a folder without a database fails and keeps the previous backup',
    async (command) => {
      const file = join(folder, 'before');
      await writeFile(file, 'the previous backup');
      const DATA_DIR = join(folder, 'mistaken');
      const { code, stderr } = await run(command, [file], { DATA_DIR });
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `DATA_DIR=${DATA_DIR} has no database. Set it to the folder of the service's data.\n`,
      });
      expect(await readFile(file, 'utf8')).toBe('the previous backup');
      expect(existsSync(DATA_DIR)).toBe(false);
    },
  );

  test('by backup is a complete database', async () => {
    const DATA_DIR = join(folder, 'restored');
    await mkdir(DATA_DIR);
    const file = join(DATA_DIR, 'space-service.sqlite');
    expect(await run('backup', [file])).toMatchObject({ code: 0 });
    expect(await run('compact', [], { DATA_DIR })).toMatchObject({ code: 0 });
    const [original, restored] = await Promise.all([
      run('export'),
      run('export', [], { DATA_DIR }),
    ]);
    expect(restored.stdout).toBe(original.stdout);
    expect(original.stdout).toContain('bread');
  });

  test('by backup has no rows of deleted accounts after it is compacted', async () => {
    const DATA_DIR = join(folder, 'interrupted');
    await mkdir(DATA_DIR);
    const file = join(DATA_DIR, 'space-service.sqlite');
    expect(await run('backup', [file])).toMatchObject({ code: 0 });
    {
      await using engine = await openDatabase({ dataDir: DATA_DIR }, { runsMaintenance: false });
      const { pk: user_pk } = await engine.db
        .selectFrom('users')
        .select('pk')
        .where('email', '=', 'ada@example.com')
        .executeTakeFirstOrThrow();
      const sessionPk = await insertSession(engine.db, user_pk);
      // No time, so the transaction deletes only the first rows.
      await eraseAccount(engine, { pk: user_pk, sessionPk }, -1);
      const rows = await engine.db.selectFrom('erased_users').selectAll().execute();
      expect(rows).toEqual([{ user_pk }]);
    }
    expect(await run('compact', [], { DATA_DIR })).toMatchObject({ code: 0 });
    const count = (table: string) =>
      withDatabase(file, (sqlite) => sqlite.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
    expect([count('erased_users'), count('spaces')]).toEqual([0, 0]);
  });

  test.each(['export', 'backup'])('by %s rejects a folder as its target', async (command) => {
    const { code, stderr } = await run(command, [folder]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `${folder} exists and is not a regular file. Choose another name.\n`,
    });
  });
});

test.each([
  ['verify-account', ['ada@example.com']],
  ['suspend-account', ['ada@example.com']],
  ['check-usernames', []],
  ['compact', []],
])('%s %j prints one line if the database is damaged', async (script, args) => {
  const DATA_DIR = join(folder, `damaged-${script}`);
  expect(await run('import', ['-'], { DATA_DIR }, lines)).toMatchObject({ code: 0 });
  const file = join(DATA_DIR, 'space-service.sqlite');
  for (const table of ['users', 'erased_users']) damageTable(file, table);
  const { code, stderr } = await run(script, args, { DATA_DIR });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `${file} is damaged. Run check-database, which says what to do.\n`,
  });
});

describe('compact', () => {
  test('removes the words of removed spaces from the word index and the dictionary', async () => {
    const DATA_DIR = join(folder, 'words');
    const words = { title: 'Titlecanary', description: 'About a describedcanary' };
    const removed = { type: 'space', space_id: 'removed', creator_id: 'ada', ...words };
    const input = toNdjson([...records, removed]);
    expect(await run('import', ['-'], { DATA_DIR }, input)).toMatchObject({ code: 0 });
    expect(await run('remove-space', ['removed'], { DATA_DIR })).toMatchObject({
      code: 0,
    });
    expect(await run('compact', [], { DATA_DIR })).toMatchObject({ code: 0 });
    const content = await readFile(join(DATA_DIR, 'space-service.sqlite'));
    // The dictionary contains its words in UTF-16.
    for (const encoding of ['latin1', 'utf16le'] as const) {
      expect(content.includes('canary', 0, encoding)).toBe(false);
    }
  });

  test('refuses a database on a server without changing it', async () => {
    const DATABASE_URL = `postgres://127.0.0.1:${await freePort()}/spaces`;
    const { code, stderr } = await run('compact', [], { DATABASE_URL });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^DATABASE_URL is set\. .* run VACUUM FULL\.\n$/),
    });
  });
});

describe('verify-account and set-password', () => {
  test('verify an account and set its password', async () => {
    expect(await run('verify-account', ['ADA@example.com'])).toMatchObject({
      code: 0,
    });
    const password = 'marmalade on toast';
    expect(await run('set-password', ['ada@example.com'], {}, `${password}\n`)).toMatchObject({
      code: 0,
    });
    await using app = await startApp({ DATA_DIR: join(folder, 'data') });
    const { data: session } = await api.login({
      client: app.client(),
      body: { email: 'ada@example.com', password },
      throwOnError: true,
    });
    const profile = await api.getProfile({ client: app.client(session.access_token) });
    expect(profile.data).toMatchObject({ username: 'ada', is_verified: true });
  });

  const PASSWORD = 'marmalade on toast';
  test.each([
    [
      'the same password twice',
      'ada',
      `${PASSWORD}\r${PASSWORD}\r`,
      0,
      /^New password \(not shown\): \nRepeat the password: \nDatabase: DATA_DIR=\S+\n$/,
    ],
    ['different passwords', 'ada', `${PASSWORD}\rother\r`, 1, /The passwords differ/],
    ['Ctrl+C', 'ada', '\u0003', 130, /^New password \(not shown\): \n$/],
    ['Ctrl+C at the second prompt', 'ada', `${PASSWORD}\r\u0003`, 130, /: \n$/],
    ['an unknown account', 'nobody', '', 1, /^There is no account/],
  ])('read a password from a terminal: %s', async (_, account, keys, code, message) => {
    const result = await run('set-password', [account], {}, keys, { isTerminal: true });
    expect(result).toMatchObject({ code, stderr: expect.stringMatching(message) });
    expect(result.stdout + result.stderr).not.toContain(PASSWORD);
  });

  test('accept a user id', async () => {
    expect(await run('verify-account', ['ada'])).toMatchObject({
      code: 0,
      stdout: 'The account ada is verified.\n',
    });
    const input = `${PASSWORD}\n`;
    expect(await run('set-password', ['ada'], {}, input)).toMatchObject({ code: 0 });
  });

  test.each([
    ['no input', '', 1],
    ['a line without a newline', 'marmalade on toast', 0],
  ])('read a password from standard input: %s', async (_, input, code) => {
    const args = ['ada@example.com'];
    expect(await run('set-password', args, {}, input)).toMatchObject({ code });
  });
});

test.each([
  ['set-password', ['ada@example.com'], /8 to 256/],
  ['export', ['no-such-folder/a'], /The folder no-such-folder does not exist/],
])('%s %j prints an error message without a stack trace', async (script, args, message) => {
  const { code, stderr } = await run(script, args, {}, 'short\n');
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
  expect(stderr).not.toContain('    at ');
});
