import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { countLines, importRecords } from '../../server/import-export/import.ts';
import { assertConsistent } from '../support/consistency.ts';
import { isPostgresql } from '../support/databases.ts';
import { toLines } from '../support/ndjson.ts';
import { type EmptyDatabases, exportLines, prepareDatabases } from './databases.ts';

let databases: EmptyDatabases;
beforeEach(async () => {
  databases = await prepareDatabases();
});
afterEach(() => databases[Symbol.asyncDispose]());

const created_at = '2026-01-01T00:00:00.000Z';
const hash = (cost: string) => `$argon2id$v=19$${cost}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

const existing = [
  {
    type: 'user',
    user_id: 'ada',
    username: 'ada',
    email: 'ada@example.com',
    password_hash: hash('m=19456,t=2,p=1'),
    picture: `${'A'.repeat(22)}.webp`,
    created_at,
  },
  { type: 'user', user_id: 'bob', username: 'bob', email: 'bob@example.com', created_at },
  {
    type: 'space',
    space_id: 'secret',
    creator_id: 'ada',
    title: 'Secret',
    visibility: 'private',
    invitation_code: 'a'.repeat(22),
    tags: ['baking'],
    tag_ids: [7],
    created_at,
  },
  {
    type: 'participant',
    space_id: 'secret',
    user_id: 'bob',
    joined_at: created_at,
    left_at: created_at,
    removed_at: created_at,
    read_until: created_at,
  },
  {
    type: 'message',
    message_id: 'm1',
    space_id: 'secret',
    author_id: 'ada',
    text: 'Hello',
    created_at,
  },
];

const userId = fc.constantFrom('ada', 'bob', 'cy', 'di');
const spaceId = fc.constantFrom('secret', 'open', 'closed');
const messageId = fc.constantFrom('m1', 'm2', 'm3');
const time = fc.constantFrom(created_at, '0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z');
/** Omitted in every second record. */
const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 2 });
/** Mostly a valid value, and sometimes a hostile one. */
const mostly = <T>(valid: fc.Arbitrary<T>, ...hostile: T[]) =>
  fc.oneof({ arbitrary: valid, weight: 9 }, { arbitrary: fc.constantFrom(...hostile), weight: 1 });

/** Records whose fields are well-formed. Few values, so that they refer to each other and conflict. */
const record = fc.oneof(
  fc.record({
    type: fc.constant('user'),
    user_id: optional(userId),
    username: mostly(
      fc.constantFrom('cy', 'modem', 'eve', 'fay'),
      'ADA',
      'аdа',
      'modern',
      'Ⅽy',
      'di_',
      'admin',
    ),
    has_old_username: optional(fc.boolean()),
    email: mostly(
      fc.constantFrom('cy@x.org', 'di@x.org', 'eve@x.org'),
      'ada@example.com',
      'Bob@Example.com',
    ),
    password_hash: optional(
      mostly(
        fc.constant(hash('m=8,t=1,p=1')),
        hash('m=4294967295,t=4294967295,p=255'),
        hash('m=19456,t=2,p=1').replace('argon2id', 'argon2d'),
        '$2b$31$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234',
      ),
    ),
    picture: optional(fc.constantFrom(`${'A'.repeat(22)}.webp`, `${'B'.repeat(22)}.webp`)),
    is_verified: optional(fc.boolean()),
    created_at: optional(time),
    suspended_at: optional(time),
  }),
  fc.record({
    type: fc.constant('space'),
    space_id: optional(spaceId),
    creator_id: userId,
    title: mostly(fc.constantFrom('Open', '\u202eesrever', '#'), 'O"\u0000', ' '),
    description: optional(fc.constantFrom('', 'a\u2028b', '</script>')),
    visibility: optional(fc.constantFrom('public', 'private')),
    posting: optional(fc.constantFrom('participants', 'moderators')),
    invitation_code: optional(mostly(fc.constantFrom('a'.repeat(22), 'b'.repeat(64)), 'short')),
    tags: optional(fc.array(fc.constantFrom('baking', 'Baking', '#rye', '__proto__'))),
    tag_ids: optional(fc.array(fc.constantFrom(1, 2, 7, 2 ** 52, 2 ** 53), { maxLength: 4 })),
    created_at: optional(time),
  }),
  fc.record({
    type: fc.constant('participant'),
    space_id: spaceId,
    user_id: userId,
    joined_at: optional(time),
    left_at: fc.option(time),
    removed_at: fc.option(time, { freq: 2 }),
    removed_by: fc.option(userId, { freq: 1 }),
    read_until: fc.option(time),
    is_moderator: optional(fc.boolean()),
    is_muted: optional(fc.boolean()),
  }),
  fc.record({
    type: fc.constant('message'),
    message_id: optional(messageId),
    space_id: spaceId,
    author_id: userId,
    text: mostly(fc.constantFrom('Hello', 'a\u2028b', '🍞'.repeat(2_000)), ' ', '\ud800'),
    created_at: optional(time),
    edited_at: fc.option(time),
    is_reply: optional(fc.boolean()),
    reply_to: fc.option(messageId),
    mentions: optional(fc.array(userId, { maxLength: 3 })),
  }),
  fc.record({
    type: fc.constant('appreciation'),
    message_id: messageId,
    user_id: userId,
    created_at: optional(time),
  }),
  fc.record({
    type: fc.constant('block'),
    user_id: userId,
    blocked_id: userId,
    created_at: optional(time),
  }),
);

const hostileValue = fc.constantFrom(
  ...['null', 'true', '-1', '1e999', '123456789012345678901234567890', '""', '"\\u0000"', '[]'],
  ...['{}', '{"__proto__":1}', '["a"]', '"\'; DROP TABLE users; --"', '"9999-99-99T99:99:99Z"'],
  '[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]',
);

/** A line with a record, of which one field may be replaced, repeated or foreign. */
const line = fc
  .record({
    record,
    field: fc.nat(),
    name: optional(fc.constantFrom('__proto__', 'constructor', 'toString', 'pk', 'email_key')),
    value: optional(hostileValue),
  })
  .map(({ record, field, name, value }) => {
    const text = JSON.stringify(record);
    if (value === undefined) return text;
    const names = Object.keys(JSON.parse(text));
    const replaced = name ?? (names[field % names.length] as string);
    // Of two equal fields, the last one counts.
    return `${text.slice(0, -1)},${JSON.stringify(replaced)}:${value}}`;
  });

/** Whether a line differs from the JSON text of its own value, as it does if a field is repeated. */
const isRewritten = (text: string) => JSON.stringify(JSON.parse(text)) !== text;

const lines = fc.array(
  fc.oneof({ arbitrary: record.map((each) => JSON.stringify(each)), weight: 3 }, line),
  { minLength: 20, maxLength: 60 },
);

let added = 0;
let withRepeatedField = 0;

// In parts, because two databases a run take PostgreSQL up to a second each on a busy machine. Fewer parts there, because
// both kinds of databases share most of the code.
test.each(isPostgresql ? [1, 2, 3] : [1, 2, 3, 4, 5, 6])(
  'An import of hostile records changes no existing record, and its result can be exported and imported again (part %i)',
  () =>
    fc.assert(
      fc.asyncProperty(lines, async (hostile) => {
        await using first = await databases.open();
        await importRecords(first, toLines(existing));
        const before = await exportLines(first);
        const report = await importRecords(first, toLines(hostile), { skipBad: true });
        expect(report.added + report.unchanged + countLines(report.bad)).toBe(hostile.length);
        added += report.added;
        withRepeatedField += hostile.filter(isRewritten).length;

        const after = await exportLines(first);
        expect(after).toEqual(expect.arrayContaining(before));
        await assertConsistent(first);

        await using second = await databases.open();
        expect(await importRecords(second, toLines(after))).toMatchObject({ bad: [] });
        expect(await exportLines(second)).toEqual(after);

        const again = await importRecords(first, toLines(hostile), { skipBad: true });
        expect(countLines(again.bad)).toBeLessThanOrEqual(countLines(report.bad));
        await assertConsistent(first);
      }),
      { numRuns: 10 },
    ),
);

// About the generated records, which do not depend on the kind of database.
test.skipIf(isPostgresql)(
  'The parts import enough records, and enough with a repeated field',
  () => {
    expect(added).toBeGreaterThan(100);
    expect(withRepeatedField).toBeGreaterThan(50);
  },
);
