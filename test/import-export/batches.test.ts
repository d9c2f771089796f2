import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { SearchCopy } from '../../server/database/postgresql/search-copy/search-copy.ts';
import { MAX_ROWS_PER_STATEMENT } from '../../server/database/prepared.ts';
import {
  countLines,
  ImportError,
  type ImportReport,
  importRecords,
} from '../../server/import-export/import.ts';
import { distinctSkeleton } from '../../server/text/username-keys.ts';
import { isPostgresql } from '../support/databases.ts';
import { toLines } from '../support/ndjson.ts';
import { type EmptyDatabases, exportLines, prepareDatabases } from './databases.ts';

let databases: EmptyDatabases;
beforeAll(async () => {
  databases = await prepareDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());

const created_at = '2026-01-01T00:00:00.000Z';

/** Usernames that do not look alike. */
const nameOf = (i: number) =>
  `user ${[...String(i)].map((digit) => 'abcdefghkp'[+digit]).join('')}`;
const user = (i: number) => ({
  type: 'user',
  user_id: `u${i}`,
  username: nameOf(i),
  email: `u${i}@example.com`,
  created_at,
});
const space = (i: number, tags: string[] = []) => ({
  type: 'space',
  space_id: `s${i}`,
  creator_id: 'u0',
  title: `Space ${i}`,
  tags,
  created_at,
});
const participant = (space_id: string, user_id: string) => ({
  type: 'participant',
  space_id,
  user_id,
  joined_at: created_at,
});
const message = (message_id: string, space_id: string, author_id: string) => ({
  type: 'message',
  message_id,
  space_id,
  author_id,
  text: `Text of ${message_id}`,
  created_at,
});
const appreciation = (message_id: string, user_id: string) => ({
  type: 'appreciation',
  message_id,
  user_id,
  created_at,
});

const importAll = (engine: Engine, records: Iterable<object | string>) =>
  importRecords(engine, toLines(records), { skipBad: true });

/** Imports every line on its own. Returns a report like that of one import. */
async function importOneByOne(engine: Engine, lines: readonly string[]): Promise<ImportReport> {
  const total: ImportReport = { added: 0, unchanged: 0, bad: [] };
  for (const [i, line] of lines.entries()) {
    const { added, unchanged, bad } = await importAll(engine, [line]);
    total.added += added;
    total.unchanged += unchanged;
    total.bad.push(...bad.map(({ reason }) => ({ line: i + 1, reason })));
  }
  return total;
}

/** What searches find of each space. */
async function searchIndex({ searchIndex: index }: Engine) {
  await index.update();
  // Without maintenance, nothing else adds the spaces of large transactions.
  if (index instanceof SearchCopy) while (await index.addPending());
  return index.db
    .selectFrom('public_spaces')
    .select(['head', 'tail', 'participant_count', 'title_key'])
    .orderBy('key')
    .execute();
}

/** Call it after `searchIndex`. */
async function termsOf(engine: Engine): Promise<Map<string, number>> {
  const terms = new Map<string, number>();
  for await (const { term, documents } of engine.wordIndex.terms(engine.searchIndex.db)) {
    terms.set(term, documents);
  }
  return terms;
}

describe('A batch', () => {
  test('counts a repeated record as unchanged', async () => {
    await using engine = await databases.open();
    const records = [
      ...[user(0), user(1), user(0)],
      ...[space(0, ['rye']), { ...space(0, ['oats']), title: 'Other' }, space(1)],
      ...[participant('s0', 'u1'), participant('s0', 'u1'), participant('s0', 'u0')],
      ...[message('m0', 's0', 'u1'), { ...message('m0', 's0', 'u0'), text: 'Other' }],
      ...[appreciation('m0', 'u0'), appreciation('m0', 'u0')],
    ];
    const report = await importAll(engine, records);
    expect(report).toEqual({ added: 7, unchanged: 6, bad: [] });
    const exported = (await exportLines(engine)).map((line) => JSON.parse(line));
    expect(exported.filter(({ type }) => type === 'space')).toMatchObject([
      { space_id: 's0', title: 'Space 0', tags: ['rye'] },
      { space_id: 's1', title: 'Space 1', tags: [] },
    ]);
    expect(exported.filter(({ type }) => type === 'message')).toMatchObject([
      { message_id: 'm0', author_id: 'u1', text: 'Text of m0' },
    ]);
  });

  test.each([
    ['has the username of', { username: 'MODEM' }],
    ['has a username that looks like that of', { username: 'modern' }],
    ['has the email address of', { email: 'U0@example.com' }],
    ['has the picture of', { picture: `${'A'.repeat(22)}.webp` }],
  ])(
    'rejects a user who %s another user, earlier in the file or stored',
    async (problem, changes) => {
      const first = { ...user(0), username: 'modem', picture: `${'A'.repeat(22)}.webp` };
      const records = [first, user(1), { ...user(2), ...changes }, user(3)];
      await using engine = await databases.open();
      expect(await importAll(engine, records)).toEqual({
        added: 3,
        unchanged: 0,
        bad: [{ line: 3, reason: `${problem} user u0` }],
      });
      expect(await importAll(engine, records)).toEqual({
        added: 0,
        unchanged: 3,
        bad: [{ line: 3, reason: `${problem} user u0` }],
      });
      expect(await exportLines(engine)).toHaveLength(3);
    },
  );

  test('distinguishes old usernames that look alike', async () => {
    await using engine = await databases.open();
    const alike = (i: number, username: string, has_old_username?: boolean) => ({
      ...user(i),
      username,
      has_old_username,
    });
    const report = await importAll(engine, [
      alike(0, 'modem'),
      alike(1, 'modern', true),
      alike(2, 'rnodern', true),
      alike(3, 'rnodem'),
      alike(1, 'modern', true),
    ]);
    const reason = 'has a username that looks like that of user u0';
    expect(report).toEqual({ added: 3, unchanged: 1, bad: [{ line: 4, reason }] });
    const rows = await engine.db
      .selectFrom('users')
      .select(['user_id', 'username_skeleton'])
      .orderBy('pk')
      .execute();
    const skeleton = rows[0]?.username_skeleton as string;
    expect(rows).toEqual([
      { user_id: 'u0', username_skeleton: skeleton },
      { user_id: 'u1', username_skeleton: distinctSkeleton(skeleton, 'u1') },
      { user_id: 'u2', username_skeleton: distinctSkeleton(skeleton, 'u2') },
    ]);
  });

  test('reports its bad lines in the order of the file, whenever they were found', async () => {
    await using engine = await databases.open();
    const report = await importAll(engine, [
      user(0),
      { ...user(1), email: user(0).email },
      'no',
      { ...user(2), username: '' },
      '',
      user(3),
      { type: 'room' },
      space(0),
      { ...space(1), creator_id: 'eve' },
      message('m0', 's0', 'u3'),
      message('m1', 's9', 'u3'),
      { ...message('m2', 's0', 'u0'), text: ' ' },
      message('m3', 's0', 'u0'),
    ]);
    expect(report.added).toBe(4);
    expect(report.bad).toMatchObject([
      { line: 2, reason: 'has the email address of user u0' },
      { line: 3, reason: 'is not JSON' },
      { line: 4 },
      { line: 7, reason: expect.stringContaining('has a type other than') },
      { line: 9, reason: 'creator_id eve is not known' },
      { line: 10, reason: 'has an author who never joined the space' },
      { line: 11, reason: 'space_id s9 is not known' },
      { line: 12, reason: expect.stringContaining('blank') },
    ]);
  });

  test('reports the cause once, and the lines that depend on it together', async () => {
    await using engine = await databases.open();
    const records = [
      { ...user(0), username: '' },
      { type: 'user', username: 'nameless', email: 'nameless@example.com' },
      { type: 'user', username: 'Nameless', email: 'other@example.com' },
      user(1),
      space(0),
      { ...space(1), creator_id: 'u1', title: 5 },
      participant('s0', 'u1'),
      participant('s1', 'u0'),
      ...Array.from({ length: 50 }, (_, i) => message(`m${i}`, 's0', 'u1')),
      appreciation('m7', 'u1'),
      message('m50', 's1', 'u1'),
      { ...message('m51', 's1', 'u1'), reply_to: 'm50' },
    ];
    expect(await importAll(engine, records)).toEqual({
      added: 2,
      unchanged: 0,
      bad: [
        { line: 1, reason: expect.stringContaining('sername') },
        { line: 3, reason: 'has the username of the user of line 2' },
        // A space, a participant, 50 messages, and an appreciation.
        { line: 5, reason: 'depends on line 1', others: 52 },
        { line: 6, reason: 'title must be string' },
        // A participant, a message and a reply to it.
        { line: 8, reason: 'depends on line 6', others: 2 },
      ],
    });
  });

  test('adds nothing if one line among many is bad', async () => {
    await using engine = await databases.open();
    const records = Array.from({ length: 3 * MAX_ROWS_PER_STATEMENT }, (_, i) => user(i));
    const lines = [...records, { ...space(0), creator_id: 'eve' }, space(1)];
    const rejected = importRecords(engine, toLines(lines));
    await expect(rejected).rejects.toThrow(ImportError);
    expect(await exportLines(engine)).toEqual([]);
  });

  test('stops after a hundred bad lines and lists them', async () => {
    await using engine = await databases.open();
    let read = 0;
    function* lines() {
      for (; read < 10_000; read += 1) yield read % 2 === 0 ? 'no' : user(read);
    }
    const error = await importRecords(engine, toLines(lines())).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ImportError);
    const { bad } = (error as ImportError).report;
    expect(bad.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, i) => 2 * i + 1));
    expect(read).toBeLessThan(1_000);
  });

  test('rejects records that refer to a later line', async () => {
    await using engine = await databases.open();
    const report = await importAll(engine, [
      space(0),
      user(0),
      participant('s0', 'u0'),
      space(0),
      message('m0', 's0', 'u1'),
      user(1),
      message('m0', 's0', 'u1'),
      participant('s0', 'u1'),
      appreciation('m0', 'u0'),
      message('m0', 's0', 'u1'),
    ]);
    expect(report).toEqual({
      added: 5,
      unchanged: 0,
      bad: [
        { line: 1, reason: 'creator_id u0 is not known' },
        { line: 3, reason: 'depends on line 1' },
        { line: 5, reason: 'author_id u1 is not known' },
        { line: 7, reason: 'has an author who never joined the space' },
        { line: 9, reason: 'depends on line 7' },
      ],
    });
  });

  test.each([-1, 0, 1])(
    'is imported correctly if the records of a type exceed the maximum rows of a statement by %i',
    async (difference) => {
      const count = MAX_ROWS_PER_STATEMENT + difference;
      const numbers = Array.from({ length: count }, (_, i) => i);
      await using engine = await databases.open();
      const records = [
        ...numbers.map(user),
        // Repeats a record at the end of a statement or at the beginning of the next one.
        user(count - 1),
        { ...user(count), email: user(count - 1).email },
        ...numbers.map((i) => space(i, [`tag ${i}`])),
        ...numbers.map((i) => participant('s0', `u${i}`)),
        ...numbers.map((i) => message(`m${i}`, 's0', `u${i}`)),
      ];
      expect(await importAll(engine, records)).toEqual({
        added: 4 * count - 1,
        // The second record of the last user, and the participation of the creator.
        unchanged: 2,
        bad: [{ line: count + 2, reason: `has the email address of user u${count - 1}` }],
      });
      const indexed = await searchIndex(engine);
      expect(indexed).toHaveLength(count);
      expect(indexed[0]).toMatchObject({ title_key: 'space 0', participant_count: count });
      expect((await termsOf(engine)).get('space')).toBe(count);
    },
  );
});

test('An import adds nothing if its input fails while a batch is being added', async () => {
  await using engine = await databases.open();
  async function* failingInput(delayMs: number) {
    for (let i = 0; i < 2_100; i += 1) yield JSON.stringify(user(i));
    await sleep(delayMs);
    throw new Error('The disk has failed.');
  }
  for (let delayMs = 0; delayMs < 120; delayMs += 4) {
    await expect(importRecords(engine, failingInput(delayMs))).rejects.toThrow('has failed');
  }
  expect(await exportLines(engine)).toEqual([]);
});

const pick = <T>(...values: T[]) => fc.constantFrom(...values);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const userIds = pick('u0', 'u1', 'u2', 'u3');
const spaceIds = pick('s0', 's1', 's2');
const messageIds = pick('m0', 'm1', 'm2');

const users = fc.record({
  type: fc.constant('user'),
  user_id: maybe(userIds),
  username: pick('modem', 'modern', 'MODEM', 'rnodem', 'cy_', 'di', 'eve', ''),
  has_old_username: maybe(fc.boolean()),
  email: pick('a@x.org', 'A@x.org', 'b@x.org', 'c@x.org', 'd@x.org'),
  picture: maybe(pick(`${'A'.repeat(22)}.webp`, `${'B'.repeat(22)}.webp`)),
  suspended_at: maybe(fc.constant(created_at)),
  created_at: fc.constant(created_at),
});
const visibilities = pick<object>(
  {},
  { visibility: 'public' },
  { visibility: 'public', invitation_code: 'c'.repeat(22) },
  // A missing code would be generated, and differ between the imports.
  { visibility: 'private', invitation_code: 'c'.repeat(22) },
);
const spaces = fc
  .record({
    visibility: visibilities,
    type: fc.constant('space'),
    space_id: maybe(spaceIds),
    creator_id: userIds,
    title: pick('Bread', 'Rolls and bread', ' '),
    tags: fc.array(pick('rye', 'Rye', 'oats', '#spelt', '#'), { maxLength: 3 }),
    tag_ids: maybe(fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 3 })),
    created_at: fc.constant(created_at),
    posting: maybe(pick('participants', 'moderators')),
  })
  .map(({ visibility, ...record }) => ({ ...record, ...visibility }));
const participants = fc.record({
  type: fc.constant('participant'),
  space_id: spaceIds,
  user_id: userIds,
  joined_at: fc.constant(created_at),
  left_at: maybe(fc.constant(created_at)),
  removed_at: maybe(fc.constant(created_at)),
  removed_by: maybe(userIds),
  read_until: maybe(fc.constant(created_at)),
  is_moderator: maybe(fc.boolean()),
  is_muted: maybe(fc.boolean()),
});
const messages = fc.record({
  type: fc.constant('message'),
  message_id: maybe(messageIds),
  space_id: spaceIds,
  author_id: userIds,
  text: pick('Hello', 'Goodbye', ' '),
  is_reply: maybe(fc.boolean()),
  reply_to: maybe(messageIds),
  mentions: maybe(fc.array(userIds, { maxLength: 3 })),
  created_at: fc.constant(created_at),
});
const appreciations = fc.record({
  type: fc.constant('appreciation'),
  message_id: messageIds,
  user_id: userIds,
  created_at: fc.constant(created_at),
});
const blocks = fc.record({
  type: fc.constant('block'),
  user_id: userIds,
  blocked_id: userIds,
  created_at: fc.constant(created_at),
});
const runOf = (record: fc.Arbitrary<object>) => fc.array(record, { minLength: 1, maxLength: 6 });
const badLines = fc.array(pick('no', '{}', ''), { minLength: 1, maxLength: 2 });
/** Runs of one type, mostly in the order of an export, so that many records are valid. */
const files = fc
  .tuple(
    runOf(users),
    runOf(spaces),
    runOf(participants),
    runOf(messages),
    fc.array(
      fc.oneof(
        ...[users, spaces, participants, messages, appreciations, blocks].map(runOf),
        badLines,
      ),
      {
        maxLength: 6,
      },
    ),
  )
  .map(([first, second, third, fourth, others]) =>
    [first, second, third, fourth, ...others]
      .flat()
      .map((each) => (typeof each === 'string' ? each : JSON.stringify(each))),
  );

/** Creating a database and importing a line take several times as long on PostgreSQL. */
const NUM_RUNS = isPostgresql ? 5 : 30;

/** Replaces the ids of users that were imported without one, because these ids are random. No record refers to them. */
async function exportWithoutRandomIds(engine: Engine): Promise<string[]> {
  const lines = await exportLines(engine);
  return lines.map((line) =>
    line.replace(/^(\{"type":"user","user_id":)"[0-9a-f-]{36}"/, '$1"random"'),
  );
}

/** Compares the report of one import with that of imports of each line, which do not know on which lines they depend. */
function expectSameReport(together: ImportReport, apart: ImportReport): void {
  const { added, unchanged } = apart;
  expect(together).toMatchObject({ added, unchanged });
  expect(countLines(together.bad)).toBe(apart.bad.length);
  // Users without an id have another one in each database.
  const withoutOwner = (reason = '') => reason.replace(/ of (?:the )?user .*/, ' of another user');
  const reasons = new Map(apart.bad.map(({ line, reason }) => [line, withoutOwner(reason)]));
  for (const { line, reason } of together.bad) {
    if (/^depends on line \d+$/.test(reason)) {
      expect(reasons.get(line)).toMatch(
        / is not known$|^has an author who never joined the space$/,
      );
    } else {
      expect(reasons.get(line)).toBe(withoutOwner(reason));
    }
  }
}

test('One import of any lines has the same result as an import of each line', async () => {
  await fc.assert(
    fc.asyncProperty(files, async (lines) => {
      await using together = await databases.open();
      await using apart = await databases.open();
      const report = await importAll(together, lines);
      expectSameReport(report, await importOneByOne(apart, lines));
      expect(await exportWithoutRandomIds(together)).toEqual(await exportWithoutRandomIds(apart));
      expect(await searchIndex(together)).toEqual(await searchIndex(apart));
      expect(await termsOf(together)).toEqual(await termsOf(apart));
    }),
    { numRuns: NUM_RUNS },
  );
}, 180_000);
