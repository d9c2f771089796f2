import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { setPassword } from '../../server/auth/password-reset.ts';
import type { Engine } from '../../server/database/engine.ts';
import { ImportError, type ImportReport, importRecords } from '../../server/exchange/import.ts';
import { BadLineError, parseRecord } from '../../server/exchange/records.ts';
import { restoreAccount } from '../../server/profile/account-suspension.ts';
import { sampleRecords } from '../../server/sample/sample.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { isPostgresql } from '../support/databases.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { toLines } from '../support/records.ts';
import { type EmptyDatabases, exportLines, prepareDatabases } from './databases.ts';

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
const validRecords = [ada, bob, bread, joined, hello, liked];

let databases: EmptyDatabases;
beforeAll(async () => {
  databases = await prepareDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());

const openEmptyDatabase = () => databases.open();

/** Imports records, at least one of them invalid. Returns the report of the rejected import. */
async function rejectImport(records: (object | string)[]): Promise<ImportReport> {
  await using engine = await openEmptyDatabase();
  try {
    await importRecords(engine, toLines(records));
  } catch (error) {
    expect(error).toBeInstanceOf(ImportError);
    expect(await exportLines(engine)).toEqual([]);
    return (error as ImportError).report;
  }
  return expect.fail('All records were imported.');
}

describe('the sample data', () => {
  test('imports completely, and its export imports to an equal database', async () => {
    await using first = await openEmptyDatabase();
    const records = [...sampleRecords(hash, new Date('2026-01-01T00:00:00Z'))];
    const report = await importRecords(first, toLines(records));
    expect(report.bad).toEqual([]);
    expect(report.added + report.unchanged).toBe(records.length);
    const count = (type: string) => records.filter((each) => each.type === type).length;
    expect(count('user')).toBe(30);
    expect(count('space')).toBeGreaterThanOrEqual(200);
    expect(count('message')).toBeGreaterThanOrEqual(2_000);
    expect(count('appreciation')).toBeGreaterThanOrEqual(1_000);

    const lines = await exportLines(first);
    expect(lines).toHaveLength(report.added + count('space'));
    await using second = await openEmptyDatabase();
    await importRecords(second, toLines(lines));
    expect(await exportLines(second)).toEqual(lines);
  });
});

// The tables of both kinds of database have the same columns, so those of SQLite are enough.
describe.skipIf(isPostgresql)('exportRecords', () => {
  /** Columns that the import derives, or that refer to rows of other tables. */
  const derivedColumns: Record<string, string[]> = {
    users: ['pk', 'username_key', 'username_skeleton', 'email_key'],
    spaces: ['pk', 'participant_count'],
    participations: [],
    messages: ['pk', 'word_count'],
    appreciations: ['author_pk'],
  };
  /** Fields whose names differ from their columns. */
  const fieldNames: Record<string, string> = {
    'users.avatar': 'picture',
    'spaces.creator_pk': 'creator_id',
    'participations.space_pk': 'space_id',
    'participations.user_pk': 'user_id',
    'messages.space_pk': 'space_id',
    'messages.author_pk': 'author_id',
    'appreciations.message_pk': 'message_id',
    'appreciations.user_pk': 'user_id',
  };
  /** Tables that an export does not contain, with the reason. */
  const notExported: Record<string, string> = {
    sessions: 'Users sign in again.',
    reports: 'Only the operator of this server handles them.',
    tags: 'The record of a space contains its tags with their ids.',
    space_tags: 'The record of a space contains its tags with their ids.',
    public_spaces: 'The import indexes the spaces.',
    tag_hits: 'The import indexes the spaces.',
    action_counts: 'An import does not use up quotas.',
    erased_users: 'An export contains nothing of deleted accounts.',
    erased_spaces: 'An export contains nothing of deleted spaces.',
    spaces_to_move: 'The import indexes the spaces.',
    dictionary: 'Maintenance builds it from the word index.',
    search_index: 'The import writes the version of its own index.',
    search_revision: 'It notifies the processes that use a database of changes.',
    spaces_to_index: 'It is empty between transactions.',
    discarded_avatars: 'These avatars are not in use.',
    pending_purges: 'A new database has no deleted content.',
    secrets: 'Each database has its own keys.',
  };
  /** Tables of SQLite, Kysely and FTS5. The word index is filled by the import. */
  const isInternal = (name: string) => /^(sqlite_|kysely_|word_index(_|$))/.test(name);

  test('exports every column that cannot be derived, including future ones', async () => {
    await using engine = await openEmptyDatabase();
    const picture = `${'A'.repeat(22)}.webp`;
    await importRecords(
      engine,
      toLines([
        { ...ada, password_hash: hash, picture, suspended_at: '2026-01-01T00:00:00Z' },
        bob,
        { ...bread, visibility: 'private', invitation_code: 'a'.repeat(22) },
        { ...joined, left_at: '2026-01-01T00:00:00Z', removed_at: '2026-01-02T00:00:00Z' },
        hello,
        liked,
      ]),
    );
    const fields: Record<string, Set<string>> = {};
    for (const line of await exportLines(engine)) {
      const { type, ...record } = JSON.parse(line);
      const table = type === 'participant' ? 'participations' : `${type}s`;
      fields[table] = new Set([...(fields[table] ?? []), ...Object.keys(record)]);
    }
    const tables = await engine.db.introspection.getTables();
    const own = tables.filter(({ name }) => !isInternal(name));
    const names = own.map(({ name }) => name);
    expect(Object.keys(notExported).filter((name) => !names.includes(name))).toEqual([]);
    const kept = own.filter(({ name }) => !Object.hasOwn(notExported, name));
    expect(kept.map(({ name }) => name).sort()).toEqual(Object.keys(derivedColumns).sort());
    for (const { name: table, columns } of kept) {
      const expected = columns
        .map(({ name }) => name)
        .filter((name) => !derivedColumns[table]?.includes(name))
        .map((name) => fieldNames[`${table}.${name}`] ?? name);
      if (table === 'spaces') expected.push('tags', 'tag_ids');
      const exported = [...(fields[table] ?? [])].sort();
      expect(exported, `columns of ${table} in an export`).toEqual(expected.sort());
    }
  });
});

describe('An export', () => {
  test('can be imported if an older version has stored times outside of the years 0000 to 9999', async () => {
    await using first = await openEmptyDatabase();
    await importRecords(first, toLines(validRecords));
    const late = '+010000-01-01T00:59:59.000Z';
    const early = '-000001-12-31T23:00:00.000Z';
    const { db } = first;
    await db.updateTable('users').set({ created_at: early, updated_at: late }).execute();
    await db.updateTable('spaces').set({ created_at: late }).execute();
    await db.updateTable('participations').set({ joined_at: early, left_at: late }).execute();
    await db.updateTable('messages').set({ created_at: late }).execute();
    await db.updateTable('appreciations').set({ created_at: early }).execute();

    const lines = await exportLines(first);
    const times = lines.join('').match(/[+-]?\d{4,}-\d\d-\d\dT[\d:.]+Z/g);
    expect(new Set(times)).toEqual(
      new Set(['0000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']),
    );
    await using second = await openEmptyDatabase();
    // The record of the creator has `left_at`, which is invalid for other reasons.
    const report = await importRecords(second, toLines(lines), { skipBad: true });
    expect(report.bad.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('cannot leave'),
    ]);
  });
});

describe('importRecords', () => {
  test('rejects an avatar that belongs to another user', async () => {
    const picture = `${'A'.repeat(22)}.webp`;
    const { bad } = await rejectImport([
      { ...ada, picture },
      { ...bob, picture },
    ]);
    expect(bad).toEqual([{ line: 2, reason: expect.stringContaining('picture') }]);
  });

  test('keeps suspensions: a suspended account and its spaces stay hidden', async () => {
    const suspended_at = '2026-01-01T00:00:00.000Z';
    await using first = await openEmptyDatabase();
    await importRecords(first, toLines([{ ...ada, suspended_at }, bob, bread, joined, hello]));
    const lines = await exportLines(first);
    await using app = await startApp();
    const { engine } = app.context;
    await importRecords(engine, toLines(lines));
    expect(await exportLines(engine)).toEqual(lines);
    const search = async () =>
      (await api.searchSpaces({ client: app.client(), query: { q: 'bread' } })).data?.length;
    expect(await search()).toBe(0);
    expect(await restoreAccount(engine, 'ada')).toBe(true);
    expect(await search()).toBe(1);
  });

  test('changes nothing if the same file is imported again', async () => {
    await using engine = await openEmptyDatabase();
    await importRecords(engine, toLines(validRecords));
    const before = await exportLines(engine);
    const report = await importRecords(engine, toLines(validRecords));
    expect(report).toEqual({ added: 0, unchanged: validRecords.length, bad: [] });
    expect(await exportLines(engine)).toEqual(before);
  });

  test('changes nothing if records without ids are imported again', async () => {
    const user = { type: 'user', username: 'cleo', email: 'cleo@example.com' };
    const space = { type: 'space', creator_id: 'ada', title: 'Untitled' };
    const message = { type: 'message', space_id: 'bread', author_id: 'bob', text: 'No id' };
    await using engine = await openEmptyDatabase();
    await importRecords(engine, toLines([...validRecords, user, space, message]));
    const report = await importRecords(engine, toLines([user, space, message]));
    expect(report).toEqual({ added: 0, unchanged: 3, bad: [] });
  });

  test('gives users without an ID one that does not reveal their email address', async () => {
    const user = { type: 'user', username: 'cleo', email: 'Cleo@example.com' };
    const importedId = async () => {
      await using engine = await openEmptyDatabase();
      await importRecords(engine, toLines([user, { ...user, email: 'cleo@EXAMPLE.com' }]));
      const lines = await exportLines(engine);
      expect(lines).toHaveLength(1);
      return JSON.parse(lines[0] as string).user_id;
    };
    expect(await importedId()).not.toBe(await importedId());
  });

  test('keeps removals, and counts removed users as former participants', async () => {
    await using first = await openEmptyDatabase();
    const times = {
      joined_at: '2026-01-01T00:00:00.000Z',
      left_at: '2026-01-02T00:00:00.000Z',
      removed_at: '2026-01-03T00:00:00.000Z',
    };
    await importRecords(first, toLines([ada, bob, bread, { ...joined, ...times }, hello]));
    const lines = await exportLines(first);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual({ ...joined, ...times });
    await using second = await openEmptyDatabase();
    await importRecords(second, toLines(lines));
    expect(await exportLines(second)).toEqual(lines);
    const counts = await second.db.selectFrom('spaces').select('participant_count').execute();
    expect(counts).toEqual([{ participant_count: 1 }]);
  });

  test('keeps old usernames that look alike or break a newer rule, and only those', async () => {
    const users = [
      { ...ada, username: 'modem' },
      { ...bob, username: 'modern', has_old_username: true },
      { type: 'user', user_id: 'cy', username: 'cy_', email: 'cy@x.org', has_old_username: true },
      { type: 'user', user_id: 'di', username: 'di', email: 'di@x.org', has_old_username: true },
    ];
    await using first = await openEmptyDatabase();
    await importRecords(first, toLines(users));
    const lines = await exportLines(first);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { username: 'modem' },
      { username: 'modern', has_old_username: true },
      { username: 'cy_', has_old_username: true },
      { username: 'di' },
    ]);
    expect(JSON.parse(lines[3] as string)).not.toHaveProperty('has_old_username');
    await using second = await openEmptyDatabase();
    await importRecords(second, toLines(lines));
    expect(await exportLines(second)).toEqual(lines);

    const invalid = { ...ada, username: 'ada\u200B', has_old_username: true };
    expect((await rejectImport([invalid])).bad).toHaveLength(1);
    const alike = { ...bob, username: 'ADA', has_old_username: true };
    expect((await rejectImport([ada, alike])).bad).toHaveLength(1);
    expect(
      (await rejectImport(users.map((each) => ({ ...each, has_old_username: false })))).bad,
    ).toMatchObject([{ line: 2 }, { line: 3 }]);
  });

  test('accepts Windows line endings and empty lines', async () => {
    await using engine = await openEmptyDatabase();
    const lines = ['', ...validRecords.map((record) => `${JSON.stringify(record)}\r`), ' '];
    expect((await importRecords(engine, toLines(lines))).added).toBe(validRecords.length);
  });

  test('rejects all lines because of one invalid line and reports its number', async () => {
    const { bad } = await rejectImport([ada, '{"type":"user"', bob]);
    expect(bad).toEqual([{ line: 2, reason: 'is not JSON' }]);
  });

  test('imports the valid lines and reports the invalid ones with skipBad', async () => {
    await using engine = await openEmptyDatabase();
    const report = await importRecords(
      engine,
      toLines([ada, 'no', bob, bread, { ...joined, space_id: 'x' }]),
      { skipBad: true },
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
    ['an unknown type', { type: 'room' }, /has a type other than user, space/],
    ['an unknown field', { ...ada, user_id: 'c', age: 3 }, /additional properties \(age\)/],
    ['a missing email address', { type: 'user', username: 'cleo' }, /required property 'email'/],
    [
      'a username that is already taken',
      { ...bob, user_id: 'c', email: 'c@example.com', username: 'ADA' },
      /belongs to another/,
    ],
    [
      'an email address that is already taken',
      { ...bob, user_id: 'c', username: 'cleo' },
      /belongs to another/,
    ],
    ['an invalid username', { type: 'user', username: 'a', email: 'c@example.com' }, /2 to 64/],
    [
      'an invalid password hash',
      { ...ada, user_id: 'c', password_hash: 'secret' },
      /password_hash/,
    ],
    [
      'an unknown creator',
      { ...bread, space_id: 's', creator_id: 'x' },
      /creator_id x is not known/,
    ],
    ['a blank title', { ...bread, space_id: 's', title: ' ' }, /not blank/],
    [
      'an invitation code that can be guessed',
      { ...bread, space_id: 's', visibility: 'private', invitation_code: 'a'.repeat(21) },
      /^invitation_code must NOT have fewer than 22 characters$/,
    ],
    [
      'a title longer than 120 characters',
      { ...bread, space_id: 's', title: 'x'.repeat(121) },
      /120/,
    ],
    ['an empty tag', { ...bread, space_id: 's', tags: ['#'] }, /tag/],
    [
      'fewer tag ids than tags',
      { ...bread, space_id: 's', tags: ['a', 'b'], tag_ids: [1] },
      /tag_ids/,
    ],
    ['tag ids without tags', { ...bread, space_id: 's', tags: undefined, tag_ids: [1] }, /tag_ids/],
    ['a tag id of 0', { ...bread, space_id: 's', tag_ids: [0] }, /tag_ids\/0 must be >= 1/],
    ['a tag id that is no integer', { ...bread, space_id: 's', tag_ids: [1.5] }, /tag_ids\/0/],
    [
      'a tag id that leaves no room for others',
      { ...bread, space_id: 's', tag_ids: [Number.MAX_SAFE_INTEGER] },
      /tag_ids\/0 must be <= 4503599627370496/,
    ],
    [
      'a creator who has left',
      { ...joined, user_id: 'ada', left_at: '2026-01-01T00:00:00Z' },
      /cannot leave/,
    ],
    [
      'a removed participant who has not left',
      { ...joined, removed_at: '2026-01-01T00:00:00Z' },
      /removed_at without left_at/,
    ],
    [
      'an unknown author',
      { ...hello, message_id: 'm', author_id: 'eve' },
      /author_id eve is not known/,
    ],
    ['a blank message', { ...hello, message_id: 'm', text: ' \n' }, /must not be blank/],
    ['half a surrogate pair', { ...hello, message_id: 'm', text: 'a\ud800' }, /surrogate/],
    ['NUL', { ...hello, message_id: 'm', text: 'a\0' }, /NUL/],
    [
      'an appreciation of the user’s own message',
      { ...liked, user_id: 'bob' },
      /one’s own message/,
    ],
    [
      'an appreciation of an unknown message',
      { ...liked, message_id: 'x' },
      /message_id x is not known/,
    ],
    ['an invalid timestamp', { ...hello, message_id: 'm', created_at: 'yesterday' }, /created_at/],
    [
      'a timestamp with an invalid month',
      { ...hello, message_id: 'm', created_at: '2026-13-01T00:00:00Z' },
      /created_at/,
    ],
    [
      'a timestamp after the year 9999 in UTC',
      { ...hello, message_id: 'm', created_at: '9999-12-31T23:59:59-01:00' },
      /created_at must be an RFC 3339 time from year 0000 to 9999 in UTC/,
    ],
    [
      'a timestamp before the year 0 in UTC',
      { ...joined, joined_at: '0000-01-01T00:00:00+01:00' },
      /joined_at must be an RFC 3339 time from year 0000 to 9999 in UTC/,
    ],
    [
      'a password hash that takes seconds to verify',
      { ...ada, user_id: 'c', password_hash: hash.replace('m=19456,t=2', 'm=262144,t=4') },
      /password_hash must be .*102,400 KiB.*262,144 KiB/,
    ],
  ])('rejects %s', async (_, record, reason) => {
    const { bad } = await rejectImport([...validRecords, record]);
    expect(bad).toHaveLength(1);
    expect(bad[0]).toMatchObject({ line: 7, reason: expect.stringMatching(reason) });
  });

  test('rejects a message from a user who never joined the space', async () => {
    const { bad } = await rejectImport([ada, bob, bread, hello]);
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
  ])('rejects values that exceed the contract’s limit: %s', (field, record, limit) => {
    expect(() => parseRecord(JSON.stringify(record))).toThrow(
      new RegExp(`^${field} must NOT have more than ${limit} `),
    );
  });

  test.each([
    ['the record', (value: string) => value],
    ['the type', (value: string) => `{"type":${value}}`],
    ['a field', (value: string) => `{"type":"user","username":${value},"email":"\\u0041@b.c"}`],
    ['an unknown field', (value: string) => `{"type":"user","\\u0041":${value}}`],
    [
      'an item',
      (value: string) => `{"type":"space","creator_id":"a","title":"\\u0041","tags":[${value}]}`,
    ],
  ])('rejects deeply nested values as %s', (_, recordWith) => {
    for (const depth of [50_000, 2_000_000]) {
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const) {
        const value = open.repeat(depth) + (open === '[' ? '' : '1') + close.repeat(depth);
        expect(() => parseRecord(recordWith(value))).toThrow(BadLineError);
      }
    }
  });

  test('parses or rejects any line without an internal error', () => {
    const line = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.constantFrom(...validRecords).map((each) => JSON.stringify(each)),
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

describe('tag ids', () => {
  /** Returns the tags of each space, as the export contains them: `7 baking, 12 Sourdough`. */
  const exportedTags = async (engine: Engine) => {
    const records = (await exportLines(engine)).map((line) => JSON.parse(line));
    const spaces = records.filter(({ type }) => type === 'space');
    return Object.fromEntries(
      spaces.map(({ space_id, tags, tag_ids }) => [
        space_id,
        tags.map((name: string, i: number) => `${tag_ids[i]} ${name}`).join(', '),
      ]),
    );
  };
  const withTags = (space_id: string, tags: string[], tag_ids?: number[]) => ({
    ...bread,
    space_id,
    tags,
    tag_ids,
  });

  test('stay the same when an export is imported into an empty database', async () => {
    await using first = await openEmptyDatabase();
    const spaces = [withTags('s', ['Rye', 'Baking'], [40, 7]), withTags('t', ['BAKING'], [7])];
    await importRecords(first, toLines([ada, ...spaces]));
    const lines = await exportLines(first);
    await using second = await openEmptyDatabase();
    await importRecords(second, toLines(lines));
    expect(await exportedTags(second)).toEqual({ s: '40 Rye, 7 Baking', t: '7 BAKING' });
    expect(await exportLines(second)).toEqual(lines);
  });

  test('of existing tags stay the same', async () => {
    await using engine = await openEmptyDatabase();
    await importRecords(engine, toLines([ada, withTags('s', ['baking'], [7])]));
    await importRecords(engine, toLines([withTags('t', ['#Baking'], [9])]));
    expect(await exportedTags(engine)).toEqual({ s: '7 baking', t: '7 Baking' });
  });

  test('are free ones if another tag has the id', async () => {
    await using engine = await openEmptyDatabase();
    await importRecords(engine, toLines([ada, withTags('s', ['baking'], [7])]));
    await importRecords(engine, toLines([withTags('t', ['rye', 'oats'], [7, 3])]));
    expect(await exportedTags(engine)).toEqual({
      s: '7 baking',
      t: expect.stringMatching(/^(?!7 |3 )[1-9]\d* rye, 3 oats$/),
    });
  });

  test('are assigned to tags without one', async () => {
    await using engine = await openEmptyDatabase();
    await importRecords(engine, toLines([ada, withTags('s', ['baking', 'rye'])]));
    await importRecords(engine, toLines([withTags('t', ['oats'])]));
    expect(await exportedTags(engine)).toEqual({ s: '1 baking, 2 rye', t: '3 oats' });
  });

  test('belong to the first of equal tags', async () => {
    await using engine = await openEmptyDatabase();
    await importRecords(engine, toLines([ada, withTags('s', ['rye', 'Rye', 'oats'], [5, 6, 7])]));
    expect(await exportedTags(engine)).toEqual({ s: '5 rye, 7 oats' });
  });

  test('leave ids for the tags that users add later', async () => {
    await using target = await startApp();
    const { engine } = target.context;
    await importRecords(engine, toLines([ada, withTags('s', ['baking'], [2 ** 52])]));
    const { client } = await target.register();
    const { data } = await api.createSpace({
      client,
      body: { title: 'Rye', description: '', visibility: 'public', tags: ['rye', 'baking'] },
      throwOnError: true,
    });
    const [rye, baking] = data.tags.map(({ tag_id }) => tag_id);
    expect(baking).toBe(2 ** 52);
    expect(rye).toBeGreaterThan(2 ** 52);
    expect(Number.isSafeInteger(rye)).toBe(true);
  });
});

describe('imported data', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    await importRecords(app.context.engine, toLines(validRecords));
    await waitForDictionary(app);
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test('is found by text, by tag and with a typing error', async () => {
    for (const path of [
      '/api/spaces/search?q=bread',
      '/api/spaces/search?q=braed',
      '/api/spaces/tag/baking',
    ]) {
      const results = await (await app.fetch(path)).json();
      expect(results).toMatchObject([
        { space_id: 'bread', participant_count: 2, creator: { username: 'ada' } },
      ]);
    }
  });

  test('is indexed even if it is larger than the caches and batches of the import', async () => {
    const spaces = 100_050;
    function* records() {
      yield ada;
      yield bob;
      for (let i = 0; i < spaces; i += 1) yield { ...bread, space_id: `s${i}`, tags: [] };
      // The import no longer caches this space. The record also changes its rank.
      yield { ...joined, space_id: 's0' };
    }
    await using engine = await openEmptyDatabase();
    const report = await importRecords(engine, toLines(records()));
    expect(report).toEqual({ added: spaces + 3, unchanged: 0, bad: [] });

    const documents = new Map<string, number>();
    for await (const each of engine.wordIndex.terms(engine.db)) {
      documents.set(each.term, each.documents);
    }
    expect(documents.get('bread')).toBe(spaces);
    const indexed = engine.db
      .selectFrom('public_spaces')
      .innerJoin('spaces', 'spaces.pk', 'space_pk')
      .select(['space_id', 'public_spaces.participant_count'])
      .orderBy('key');
    const rows = await indexed.execute();
    expect(rows).toHaveLength(spaces);
    expect(rows[0]).toEqual({ space_id: 's0', participant_count: 2 });
    expect(rows[1]).toEqual({ space_id: `s${spaces - 1}`, participant_count: 1 });
    const waiting = engine.db.selectFrom('spaces_to_index').selectAll();
    expect(await waiting.execute()).toEqual([]);
  }, 120_000);

  test('is included in the statistics', async () => {
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

  test('does not allow logins to accounts imported without a password', async () => {
    const { response } = await api.login({
      client: app.client(),
      body: { email: 'ada@example.com', password: 'anything at all' },
    });
    expect(response?.status).toBe(401);
  });
});
