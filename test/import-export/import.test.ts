import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { restoreAccount } from '../../server/account-lifecycle/suspension.ts';
import { discardAvatar, removeDiscardedAvatars } from '../../server/avatars/discarded-avatars.ts';
import type { AvatarStore } from '../../server/avatars/store.ts';
import {
  ImportError,
  type ImportReport,
  importRecords,
} from '../../server/import-export/import.ts';
import { removeAvatarOf } from '../../server/profile/avatar.ts';
import { distinctSkeleton, usernameSkeleton } from '../../server/text/username-keys.ts';
import { startApp } from '../support/app.ts';
import { toLines } from '../support/ndjson.ts';
import { type EmptyDatabases, exportLines, prepareDatabases } from './databases.ts';
import { ada, bob, bread, hello, joined, liked, PASSWORD_HASH, validRecords } from './records.ts';

let databases: EmptyDatabases;
beforeAll(async () => {
  databases = await prepareDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());

/** Imports records, at least one of them invalid. Returns the report of the rejected import. */
async function rejectImport(records: (object | string)[]): Promise<ImportReport> {
  await using engine = await databases.open();
  try {
    await importRecords(engine, toLines(records));
  } catch (error) {
    expect(error).toBeInstanceOf(ImportError);
    expect(await exportLines(engine)).toEqual([]);
    return (error as ImportError).report;
  }
  return expect.fail('All records were imported.');
}

describe('importRecords', () => {
  test('rejects references to existing users, spaces and messages if only new ones are allowed', async () => {
    await using engine = await databases.open();
    await importRecords(engine, toLines([ada, bob, bread, joined, hello]));
    const before = await exportLines(engine);
    const cy = { ...ada, user_id: 'cy', username: 'cy', email: 'cy@example.com' };
    const tea = { ...bread, space_id: 'tea', creator_id: 'cy' };
    const hostile = [
      { ...tea, creator_id: ada.user_id },
      { ...joined, user_id: 'cy' },
      { ...joined, space_id: 'tea' },
      { ...hello, message_id: 'm2', space_id: 'tea' },
      liked,
    ];
    const own = { ...hello, message_id: 'm3', space_id: 'tea', author_id: 'cy' };
    const importing = importRecords(engine, toLines([cy, tea, own, ...hostile]), { onlyNew: true });
    await expect(importing).rejects.toMatchObject({
      report: { bad: hostile.map(() => ({ reason: expect.stringContaining('is not known') })) },
    });
    expect(await exportLines(engine)).toEqual(before);
    const { added } = await importRecords(engine, toLines([cy, tea, own]), { onlyNew: true });
    expect(added).toBe(3);
  });

  test('keeps the file of an imported avatar that was discarded before and not yet removed', async () => {
    const picture = `${'A'.repeat(22)}.webp`;
    await using engine = await databases.open();
    await discardAvatar(engine.db, picture);
    await importRecords(engine, toLines([{ ...ada, picture }]));
    const removed: string[] = [];
    const avatars: Pick<AvatarStore, 'remove'> = {
      async remove(name) {
        removed.push(name);
      },
    };
    await removeDiscardedAvatars(engine, avatars as AvatarStore);
    expect(removed).toEqual([]);
    // The account can discard it again.
    expect(await removeAvatarOf(engine, 'ada')).toBe(true);
    await removeDiscardedAvatars(engine, avatars as AvatarStore);
    expect(removed).toEqual([picture]);
  });

  test('keeps suspensions: a suspended account and its spaces stay hidden', async () => {
    const suspended_at = '2026-01-01T00:00:00.000Z';
    await using first = await databases.open();
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
    await using engine = await databases.open();
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
    await using engine = await databases.open();
    await importRecords(engine, toLines([...validRecords, user, space, message]));
    const report = await importRecords(engine, toLines([user, space, message]));
    expect(report).toEqual({ added: 0, unchanged: 3, bad: [] });
  });

  test('assigns random ids to users without one, so that they do not reveal email addresses', async () => {
    const user = { type: 'user', username: 'cleo', email: 'Cleo@example.com' };
    const importedId = async () => {
      await using engine = await databases.open();
      await importRecords(engine, toLines([user, { ...user, email: 'cleo@EXAMPLE.com' }]));
      const lines = await exportLines(engine);
      expect(lines).toHaveLength(1);
      return JSON.parse(lines[0] as string).user_id;
    };
    expect(await importedId()).not.toBe(await importedId());
  });

  test('keeps edits, mentions and replies, also to deleted messages', async () => {
    const created_at = '2026-01-01T00:00:00.000Z';
    const edited_at = '2026-01-02T00:00:00.000Z';
    const other = { ...bread, space_id: 'rolls', tags: [] };
    const reply = (message_id: string, reply_to: string | null, space_id = 'bread') => ({
      ...hello,
      message_id,
      space_id,
      author_id: 'ada',
      reply_to,
    });
    await using first = await databases.open();
    const report = await importRecords(
      first,
      toLines([
        ...[
          ada,
          bob,
          bread,
          other,
          joined,
          { ...hello, created_at, edited_at, mentions: ['bob', 'ada', 'bob'] },
        ],
        ...[reply('r1', 'hello'), reply('r2', 'r1'), { ...reply('r3', null), is_reply: true }],
        ...[reply('r4', 'later'), reply('r5', 'hello', 'rolls'), reply('later', null)],
        { ...reply('r6', 'hello'), is_reply: false },
        { ...hello, message_id: 'early', created_at: edited_at, edited_at: created_at },
        // Of equal ids, the first record counts.
        reply('r2', 'hello'),
      ]),
      { skipBad: true },
    );
    expect(report.bad).toEqual([
      { line: 10, reason: 'reply_to later is not known' },
      { line: 11, reason: 'has a reply_to in another space' },
      { line: 13, reason: 'has a reply_to, but is_reply is false' },
      { line: 14, reason: 'has an edited_at, but no created_at before it' },
    ]);
    const lines = await exportLines(first);
    const messages = lines.map((line) => JSON.parse(line)).filter(({ type }) => type === 'message');
    expect(messages).toMatchObject([
      { message_id: 'hello', edited_at, is_reply: false, reply_to: null, mentions: ['ada', 'bob'] },
      { message_id: 'r1', edited_at: null, is_reply: true, reply_to: 'hello' },
      { message_id: 'r2', is_reply: true, reply_to: 'r1' },
      { message_id: 'r3', is_reply: true, reply_to: null },
      { message_id: 'later', is_reply: false, reply_to: null },
    ]);
    await using second = await databases.open();
    await importRecords(second, toLines(lines));
    expect(await exportLines(second)).toEqual(lines);
  });

  test('keeps removals and read positions, and counts removed users as former participants', async () => {
    await using first = await databases.open();
    const times = {
      joined_at: '2026-01-01T00:00:00.000Z',
      left_at: '2026-01-02T00:00:00.000Z',
      removed_at: '2026-01-03T00:00:00.000Z',
      read_until: '2026-01-01T12:00:00.000Z',
    };
    const space = { ...bread, creator_read_until: '2026-01-04T00:00:00.000Z' };
    await importRecords(first, toLines([ada, bob, space, { ...joined, ...times }, hello]));
    const lines = await exportLines(first);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ user_id: 'ada', read_until: space.creator_read_until }),
    );
    expect(lines.map((line) => JSON.parse(line))).toContainEqual({
      ...joined,
      ...times,
      removed_by: null,
      is_moderator: false,
      is_muted: false,
    });
    await using second = await databases.open();
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
    await using first = await databases.open();
    await importRecords(first, toLines(users));
    const lines = await exportLines(first);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { username: 'modem' },
      { username: 'cy_', has_old_username: true },
      { username: 'di' },
      { username: 'modern', has_old_username: true },
    ]);
    expect(JSON.parse(lines[2] as string)).not.toHaveProperty('has_old_username');
    await using second = await databases.open();
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

  test('rejects a username that looks like an old one, even after the other look-alike is deleted', async () => {
    await using engine = await databases.open();
    const users = [
      { ...ada, username: 'modem' },
      { ...bob, username: 'modern', has_old_username: true },
    ];
    await importRecords(engine, toLines(users));
    await engine.db.deleteFrom('users').where('user_id', '=', 'ada').execute();
    const alike = { type: 'user', user_id: 'cy', username: 'modem', email: 'cy@x.org' };
    await expect(importRecords(engine, toLines([alike]))).rejects.toMatchObject({
      report: { bad: [{ line: 1, reason: expect.stringContaining('username') }] },
    });
    const old = { ...alike, has_old_username: true };
    expect(await importRecords(engine, toLines([old]))).toMatchObject({ added: 1, bad: [] });
  });

  // A migration changes only skeletons to which new rules apply. So the older user can have the one with the suffix.
  test('imports an export with look-alike usernames, whichever user is older', async () => {
    await using first = await databases.open();
    const users = [
      { ...ada, username: 'modem' },
      { ...bob, username: 'modern', has_old_username: true },
    ];
    await importRecords(first, toLines(users));
    const skeleton = usernameSkeleton('modem');
    for (const [user_id, username_skeleton] of [
      ['bob', 'free for a moment'],
      ['ada', distinctSkeleton(skeleton, 'ada')],
      ['bob', skeleton],
    ] as const) {
      await first.db
        .updateTable('users')
        .set({ username_skeleton })
        .where('user_id', '=', user_id)
        .execute();
    }
    const lines = await exportLines(first);
    await using second = await databases.open();
    expect(await importRecords(second, toLines(lines))).toMatchObject({ added: 2, bad: [] });
    expect(await exportLines(second)).toEqual(lines);
  });

  test('accepts Windows line endings and empty lines', async () => {
    await using engine = await databases.open();
    const lines = ['', ...validRecords.map((record) => `${JSON.stringify(record)}\r`), ' '];
    expect((await importRecords(engine, toLines(lines))).added).toBe(validRecords.length);
  });

  test.each<[string, object, RegExp]>([
    ['an unknown type', { type: 'room' }, /has a type other than user, space/],
    ['an unknown field', { ...ada, user_id: 'c', age: 3 }, /^has the unknown field age$/],
    ['a missing email address', { type: 'user', username: 'cleo' }, /required property 'email'/],
    [
      'a username that is already taken',
      { ...bob, user_id: 'c', email: 'c@example.com', username: 'ADA' },
      /^has the username of user ada$/,
    ],
    [
      'an email address that is already taken',
      { ...bob, user_id: 'c', username: 'cleo' },
      /^has the email address of user bob$/,
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
    ['a blank title', { ...bread, space_id: 's', title: ' ' }, /not be blank/],
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
    ['a tag id that is not an integer', { ...bread, space_id: 's', tag_ids: [1.5] }, /tag_ids\/0/],
    [
      'a tag id that is not a safe integer',
      { ...bread, space_id: 's', tag_ids: [2 ** 53] },
      /tag_ids\/0 must be <= 9007199254740991/,
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
      'a moderator who has left',
      { ...joined, is_moderator: true, left_at: '2026-01-01T00:00:00Z' },
      /is_moderator with left_at/,
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
      'a timestamp on a day that does not exist',
      { ...hello, message_id: 'm', created_at: '2026-02-29T00:00:00Z' },
      /RFC 3339/,
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
      { ...ada, user_id: 'c', password_hash: PASSWORD_HASH.replace('m=19456,t=2', 'm=262144,t=4') },
      /password_hash must be .*102,400 KiB.*262,144 KiB/,
    ],
  ])('rejects %s', async (_, record, reason) => {
    const { bad } = await rejectImport([...validRecords, record]);
    expect(bad).toHaveLength(1);
    expect(bad[0]).toMatchObject({
      line: validRecords.length + 1,
      reason: expect.stringMatching(reason),
    });
  });
});
