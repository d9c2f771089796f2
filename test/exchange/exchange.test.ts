import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { exportRecords } from '../../server/exchange/export.ts';
import { ImportError, type ImportReport, importRecords } from '../../server/exchange/import.ts';
import { BadLineError, parseRecord } from '../../server/exchange/records.ts';
import { sampleRecords } from '../../server/sample/sample.ts';
import { startApp, type TestApp } from '../support/app.ts';

const hash = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
const ada = { type: 'user', user_id: 'ada', username: 'ada', email: 'ada@example.com' };
const bob = { type: 'user', user_id: 'bob', username: 'bob', email: 'bob@example.com' };
const bread = {
  type: 'space',
  space_id: 'bread',
  creator_id: 'ada',
  title: 'Bread',
  tags: ['Baking'],
};
const joined = { type: 'participant', space_id: 'bread', user_id: 'bob' };
const hello = {
  type: 'message',
  message_id: 'hello',
  space_id: 'bread',
  author_id: 'bob',
  text: 'Hello there',
};
const liked = { type: 'appreciation', message_id: 'hello', user_id: 'ada' };
const good = [ada, bob, bread, joined, hello, liked];

let folder: string;
let databases = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exchange-'));
});
afterAll(() => rm(folder, { recursive: true }));

const emptyDatabase = () => openDatabase({ dataDir: join(folder, String(++databases)) });

async function* linesOf(records: (object | string)[]): AsyncIterable<string> {
  for (const each of records) yield typeof each === 'string' ? each : JSON.stringify(each);
}

async function exported(engine: Engine): Promise<string[]> {
  const lines: string[] = [];
  await exportRecords(engine, async (record) => void lines.push(JSON.stringify(record)));
  return lines;
}

async function refusal(records: (object | string)[]): Promise<ImportReport> {
  await using engine = await emptyDatabase();
  try {
    await importRecords(engine, linesOf(records));
  } catch (error) {
    expect(error).toBeInstanceOf(ImportError);
    expect(await exported(engine)).toEqual([]);
    return (error as ImportError).report;
  }
  return expect.fail('Everything was imported.');
}

describe('The sample', () => {
  test('goes in whole, comes out, and is the same when it went in and out again', async () => {
    await using first = await emptyDatabase();
    const records = [...sampleRecords(hash, new Date('2026-01-01T00:00:00Z'))];
    const report = await importRecords(first, linesOf(records));
    expect(report.bad).toEqual([]);
    expect(report.added + report.unchanged).toBe(records.length);
    const count = (type: string) => records.filter((each) => each.type === type).length;
    expect(count('user')).toBe(30);
    expect(count('space')).toBeGreaterThanOrEqual(200);
    expect(count('message')).toBeGreaterThanOrEqual(2_000);
    expect(count('appreciation')).toBeGreaterThanOrEqual(1_000);

    const lines = await exported(first);
    expect(lines).toHaveLength(report.added + count('space'));
    await using second = await emptyDatabase();
    await importRecords(second, linesOf(lines));
    expect(await exported(second)).toEqual(lines);
  });
});

describe('An export', () => {
  /** What is made anew of the rest, or stands for rows of other tables. */
  const leftOut: Record<string, string[]> = {
    users: ['pk', 'username_key', 'username_skeleton', 'email_key'],
    spaces: ['pk', 'participant_count'],
    participations: [],
    messages: ['pk', 'word_count'],
    appreciations: ['author_pk'],
  };
  const called: Record<string, string> = {
    'users.avatar': 'picture',
    'spaces.creator_pk': 'creator_id',
    'participations.space_pk': 'space_id',
    'participations.user_pk': 'user_id',
    'messages.space_pk': 'space_id',
    'messages.author_pk': 'author_id',
    'appreciations.message_pk': 'message_id',
    'appreciations.user_pk': 'user_id',
  };
  /** Tables of what an import makes, of what nobody needs to keep, and of tags, which are in their spaces. */
  const madeAnew =
    /^(kysely_|known_word|public_spaces|search_|sessions|space_tags|tag|discarded_|pending_|sqlite_|word_index)/;

  test('has every column that nothing else tells, so that a new one is not forgotten', async () => {
    await using engine = await emptyDatabase();
    const picture = `${'A'.repeat(22)}.webp`;
    await importRecords(
      engine,
      linesOf([
        { ...ada, password_hash: hash, picture },
        bob,
        { ...bread, visibility: 'private', invitation_code: 'code' },
        { ...joined, left_at: '2026-01-01T00:00:00Z' },
        hello,
        liked,
      ]),
    );
    const fields: Record<string, Set<string>> = {};
    for (const line of await exported(engine)) {
      const { type, ...record } = JSON.parse(line);
      const table = type === 'participant' ? 'participations' : `${type}s`;
      fields[table] = new Set([...(fields[table] ?? []), ...Object.keys(record)]);
    }
    const tables = await engine.db.introspection.getTables();
    const kept = tables.filter(({ name }) => !madeAnew.test(name));
    const names = kept.map(({ name }) => name).sort();
    expect(names, 'tables in an export').toEqual(Object.keys(leftOut).sort());
    for (const { name: table, columns } of kept) {
      const expected = columns
        .map(({ name }) => name)
        .filter((name) => !leftOut[table]?.includes(name))
        .map((name) => called[`${table}.${name}`] ?? name);
      if (table === 'spaces') expected.push('tags');
      const exported = [...(fields[table] ?? [])].sort();
      expect(exported, `columns of ${table} in an export`).toEqual(expected.sort());
    }
  });
});

describe('An import', () => {
  test('gives nobody the avatar of somebody else', async () => {
    const picture = `${'A'.repeat(22)}.webp`;
    const { bad } = await refusal([
      { ...ada, picture },
      { ...bob, picture },
    ]);
    expect(bad).toEqual([{ line: 2, reason: expect.stringContaining('picture') }]);
  });

  test('of the same file again changes nothing', async () => {
    await using engine = await emptyDatabase();
    await importRecords(engine, linesOf(good));
    const before = await exported(engine);
    const report = await importRecords(engine, linesOf(good));
    expect(report).toEqual({ added: 0, unchanged: good.length, bad: [] });
    expect(await exported(engine)).toEqual(before);
  });

  test('of records without ids changes nothing the second time', async () => {
    const user = { type: 'user', username: 'cleo', email: 'cleo@example.com' };
    const space = { type: 'space', creator_id: 'ada', title: 'Untitled' };
    const message = { type: 'message', space_id: 'bread', author_id: 'bob', text: 'No id' };
    await using engine = await emptyDatabase();
    await importRecords(engine, linesOf([...good, user, space, message]));
    const report = await importRecords(engine, linesOf([user, space, message]));
    expect(report).toEqual({ added: 0, unchanged: 3, bad: [] });
  });

  test('takes Windows line ends and empty lines', async () => {
    await using engine = await emptyDatabase();
    const lines = ['', ...good.map((record) => `${JSON.stringify(record)}\r`), ' '];
    expect((await importRecords(engine, linesOf(lines))).added).toBe(good.length);
  });

  test('is refused whole for one bad line, and names it', async () => {
    const { bad } = await refusal([ada, '{"type":"user"', bob]);
    expect(bad).toEqual([{ line: 2, reason: 'is not JSON' }]);
  });

  test('keeps the good lines and lists the bad, if it is told to', async () => {
    await using engine = await emptyDatabase();
    const report = await importRecords(
      engine,
      linesOf([ada, 'no', bob, bread, { ...joined, space_id: 'x' }]),
      {
        skipBad: true,
      },
    );
    expect(report).toEqual({
      added: 3,
      unchanged: 0,
      bad: [
        { line: 2, reason: 'is not JSON' },
        { line: 5, reason: 'space_id x is not known' },
      ],
    });
  });

  test.each<[string, object, RegExp]>([
    ['a type of its own', { type: 'room' }, /has a type other than user, space/],
    [
      'a field that nobody knows',
      { ...ada, user_id: 'c', age: 3 },
      /additional properties \(age\)/,
    ],
    ['no address', { type: 'user', username: 'cleo' }, /required property 'email'/],
    [
      'a name that is taken',
      { ...bob, user_id: 'c', email: 'c@example.com', username: 'ADA' },
      /belongs to another/,
    ],
    ['an address that is taken', { ...bob, user_id: 'c', username: 'cleo' }, /belongs to another/],
    ['a malformed name', { type: 'user', username: 'a', email: 'c@example.com' }, /2 to 64/],
    ['a hash that is none', { ...ada, user_id: 'c', password_hash: 'secret' }, /password_hash/],
    [
      'a creator whom nobody knows',
      { ...bread, space_id: 's', creator_id: 'x' },
      /creator_id x is not known/,
    ],
    ['a blank title', { ...bread, space_id: 's', title: ' ' }, /not blank/],
    ['a title beyond 120 characters', { ...bread, space_id: 's', title: 'x'.repeat(121) }, /120/],
    ['an empty tag', { ...bread, space_id: 's', tags: ['#'] }, /tag/],
    [
      'the creator leaving',
      { ...joined, user_id: 'ada', left_at: '2026-01-01T00:00:00Z' },
      /cannot leave/,
    ],
    [
      'an author who never joined',
      { ...hello, message_id: 'm', author_id: 'eve' },
      /author_id eve is not known/,
    ],
    ['a blank message', { ...hello, message_id: 'm', text: ' \n' }, /must not be blank/],
    ['half a surrogate pair', { ...hello, message_id: 'm', text: 'a\ud800' }, /surrogate/],
    ['NUL', { ...hello, message_id: 'm', text: 'a\0' }, /NUL/],
    ['an appreciation of one’s own', { ...liked, user_id: 'bob' }, /one’s own message/],
    ['a message that nobody knows', { ...liked, message_id: 'x' }, /message_id x is not known/],
    ['a time that is none', { ...hello, message_id: 'm', created_at: 'yesterday' }, /created_at/],
    [
      'a month that is none',
      { ...hello, message_id: 'm', created_at: '2026-13-01T00:00:00Z' },
      /created_at/,
    ],
  ])('refuses %s', async (_, record, reason) => {
    const { bad } = await refusal([...good, record]);
    expect(bad).toHaveLength(1);
    expect(bad[0]).toMatchObject({ line: 7, reason: expect.stringMatching(reason) });
  });

  test('refuses a message of somebody who never joined its space', async () => {
    const { bad } = await refusal([ada, bob, bread, hello]);
    expect(bad[0]?.reason).toContain('never joined');
  });

  test.each([
    ['username', { ...ada, username: 'x'.repeat(65) }, 64],
    ['email', { ...ada, email: 'x'.repeat(255) }, 254],
    ['bio', { ...ada, bio: 'x'.repeat(2001) }, 2000],
    ['title', { ...bread, title: 'x'.repeat(121) }, 120],
    ['description', { ...bread, description: 'x'.repeat(501) }, 500],
    ['tags', { ...bread, tags: Array(11).fill('x') }, 10],
    ['tags/0', { ...bread, tags: ['x'.repeat(65)] }, 64],
    ['text', { ...hello, text: 'x'.repeat(2001) }, 2000],
    ['space_id', { ...bread, space_id: 'x'.repeat(65) }, 64],
  ])('rejects a %s beyond the contract’s limit', (field, record, limit) => {
    expect(() => parseRecord(JSON.stringify(record))).toThrow(
      new RegExp(`^${field} must NOT have more than ${limit} `),
    );
  });

  test('takes any line for a record or for a bad one', () => {
    const line = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.constantFrom(...good).map((each) => JSON.stringify(each)),
    );
    fc.assert(
      fc.property(line, (text) => {
        try {
          expect(parseRecord(text)).toHaveProperty('type');
        } catch (error) {
          expect(error).toBeInstanceOf(BadLineError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('What was imported', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    await importRecords(app.context.engine, linesOf(good));
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test('is found by text, by tag and with a typing error, with its participants counted', async () => {
    for (const path of [
      '/api/spaces/search?q=bread',
      '/api/spaces/search?q=braed',
      '/api/spaces/tag/baking',
    ]) {
      const found = await (await app.fetch(path)).json();
      expect(found).toMatchObject([
        { space_id: 'bread', participant_count: 2, creator: { username: 'ada' } },
      ]);
    }
  });

  test('counts in the statistics as if it had been made here', async () => {
    const { setPassword } = await import('../../server/auth/password-reset.ts');
    await setPassword(app.context.engine, 'bob@example.com', 'marmalade on toast');
    const { data } = await api.login({
      client: app.client(),
      body: { email: 'bob@example.com', password: 'marmalade on toast' },
      throwOnError: true,
    });
    const profile = await api.getProfile({
      client: app.client(data.access_token),
      throwOnError: true,
    });
    expect(profile.data.stats).toEqual({
      spaces_created: 0,
      spaces_participated: 1,
      total_words_contributed: 2,
      total_appreciations_received: 1,
    });
  });

  test('has nobody sign in who came without a password', async () => {
    const { response } = await api.login({
      client: app.client(),
      body: { email: 'ada@example.com', password: 'anything at all' },
    });
    expect(response?.status).toBe(401);
  });
});
