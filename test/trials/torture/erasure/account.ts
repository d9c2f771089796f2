import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import * as api from '../../../../generated/sdk.gen.ts';
import { hashPassword } from '../../../../server/auth/password-hashing.ts';
import { schemas } from '../../../../server/import-export/records.ts';
import { uploadAvatar } from '../../../support/avatar.ts';
import { register, retryingClientOf, type TestUser } from '../../../support/client.ts';
import { completeCommand } from '../../../support/commands.ts';
import { databaseFile, withDatabase } from '../../../support/integrity.ts';
import { toNdjson } from '../../../support/ndjson.ts';
import { createSpace } from '../../../support/spaces.ts';
import { CANARY_LENGTH, type Canaries } from '../canaries.ts';

// The account whose deletion must leave no byte.

const OTHER_USERS = 20;
const MIN_SPACES_OF_OTHERS = 20;
const TAGS_PER_SPACE = 5;
const PASSWORD = 'correct horse battery';

/** Text columns that cannot contain a canary, by reason. */
export const withoutCanary: Readonly<Record<string, readonly string[]>> = {
  'Contains one of two constants.': ['spaces.visibility', 'spaces.posting'],
  'Contains names of scopes.': ['sessions.scopes'],
  'Is a round time.': ['sessions.expires_at'],
  'Is null for an account that can delete itself.': ['users.suspended_at'],
  'Contains the current time, which is not unique.': [
    'sessions.created_at',
    'sessions.last_used_at',
    'reports.created_at',
    'blocks.created_at',
    'idempotency_keys.created_at',
  ],
};

/** Returns whether a field of records allows only texts that are shorter than a canary. */
export function isTooShort(table: string, column: string): boolean {
  const record = { users: schemas.user, spaces: schemas.space }[table];
  return (record?.properties[column]?.maxLength ?? Infinity) < CANARY_LENGTH;
}

/** Imports an account with canaries in every field, and other users who share spaces with it. */
export async function importAccount(
  dataDir: string,
  canaries: Canaries,
  messages: number,
): Promise<void> {
  const passwordHash = await hashPassword(PASSWORD);
  canaries.add('password_hash', passwordHash.slice(-43));
  const ids = idsOf(canaries, messages);
  const lines = [
    ...userRecords(ids, canaries, passwordHash),
    ...foreignSpaceRecords(ids, canaries),
    ...ownSpaceRecords(ids, canaries),
    ...ownMessageRecords(ids, canaries, messages),
    ...otherMessageRecords(ids, canaries, messages / 20),
  ];
  // Without the id, because the audit log has the arguments of commands.
  const file = `${dataDir}-account.ndjson`;
  await writeFile(file, toNdjson(lines));
  await completeCommand('import', [file], { DATA_DIR: dataDir });
  await rm(file);
}

/** The ids of records. Each function accepts any number and repeats its ids. */
interface Ids {
  account: string;
  other(i: number): string;
  ownSpaceCount: number;
  ownSpace(i: number): string;
  foreignSpaceCount: number;
  foreignSpace(i: number): string;
}

function idsOf({ letters }: Canaries, messages: number): Ids {
  // With 100,000 messages, the account almost reaches the default quotas of spaces, participations and tags.
  const ownSpaceCount = Math.max(8, messages / 100 - 10);
  const foreignSpaceCount = Math.max(MIN_SPACES_OF_OTHERS, messages / 100);
  return {
    account: `u-${letters('user_id')}`,
    other: (i) => `other-${i % OTHER_USERS}`,
    ownSpaceCount,
    ownSpace: (i) => `${letters('space_id')}-${i % ownSpaceCount}`,
    foreignSpaceCount,
    foreignSpace: (i) => `foreign-${i % foreignSpaceCount}`,
  };
}

/** Returns a time in a year, as a canary. */
function time({ add }: Canaries, kind: string, year: number): string {
  const text = `${year}-07-06T05:04:03.021Z`;
  add(kind, text);
  return text;
}

/** Adds a canary for each text that the record lacks and that is long enough, such as one of a new field. */
function withOtherTexts(
  { letters }: Canaries,
  record: { type: 'user' | 'space'; [field: string]: unknown },
): object {
  const texts = Object.entries(schemas[record.type].properties)
    .filter(([name, { maxLength = 0 }]) => !(name in record) && maxLength >= CANARY_LENGTH)
    .map(([name]) => [name, letters(`${name} of a ${record.type}`)]);
  return { ...record, ...Object.fromEntries(texts) };
}

/** The creation time of records without canaries. */
const CREATED_AT = '2020-01-01T00:00:00Z';

function* userRecords(ids: Ids, canaries: Canaries, password_hash: string): Generator<object> {
  const { letters } = canaries;
  yield withOtherTexts(canaries, {
    type: 'user',
    user_id: ids.account,
    username: `Jo-${letters('former username')}`,
    email: `${letters('email')}@Example.org`,
    password_hash,
    bio: `I am ${letters('former bio')}`,
    created_at: time(canaries, 'created_at of the user', 1971),
    updated_at: time(canaries, 'former updated_at of the user', 1972),
  });
  for (let i = 0; i < OTHER_USERS; i += 1) {
    const user_id = ids.other(i);
    const email = `${user_id}@example.org`;
    yield { type: 'user', user_id, username: user_id, email, created_at: CREATED_AT };
  }
}

/** Yields spaces of other users, in which the account participates. */
function* foreignSpaceRecords(ids: Ids, canaries: Canaries): Generator<object> {
  for (let i = 0; i < ids.foreignSpaceCount; i += 1) {
    const space_id = ids.foreignSpace(i);
    yield {
      type: 'space',
      space_id,
      creator_id: ids.other(i),
      created_at: CREATED_AT,
      title: `Tea and lanterns ${i}`,
      description: 'A harbour',
      tags: ['baking', '東京'],
    };
    yield { type: 'participant', space_id, user_id: ids.other(i + 1), joined_at: CREATED_AT };
    yield {
      type: 'participant',
      space_id,
      user_id: ids.account,
      joined_at: time(canaries, 'joined_at', 1973),
      left_at: i % 4 === 3 ? time(canaries, 'left_at', 1974) : null,
      removed_at: i % 8 === 7 ? time(canaries, 'removed_at', 1980) : null,
      read_until: time(canaries, 'read_until', 1981),
      is_moderator: i % 8 === 1,
    };
  }
}

/** Yields spaces of the account, in each of which another user participates. */
function* ownSpaceRecords(ids: Ids, canaries: Canaries): Generator<object> {
  const { letters, unspaced } = canaries;
  for (let i = 0; i < ids.ownSpaceCount; i += 1) {
    const space_id = ids.ownSpace(i);
    // An index stores words without their common prefixes.
    const beginning = i % 2 ? 'lantern' : i.toString(36).padStart(3, 'q');
    const isPrivate = i % 4 === 3;
    yield withOtherTexts(canaries, {
      type: 'space',
      space_id,
      creator_id: ids.account,
      title: isPrivate
        ? `Hidden ${letters('private title')}`
        : `Tea ${beginning}${letters('title')} ${accented(letters('folded title'))} ${unspaced('unspaced title')}`,
      description: `${beginning}${letters('description')} ${unspaced('unspaced description')}`,
      tags: Array.from({ length: TAGS_PER_SPACE }, (_, j) =>
        j === 0 ? 'baking' : `Harbour ${letters('tag')} ${i} ${j}`,
      ),
      created_at: time(canaries, 'created_at of a space', 1975),
      creator_read_until: time(canaries, 'creator_read_until', 1982),
      visibility: isPrivate ? 'private' : 'public',
      invitation_code: isPrivate
        ? `${letters('invitation_code')}-${i}`.padStart(22, '-')
        : undefined,
    });
    const joined_at = time(canaries, 'joined_at of others in own spaces', 1976);
    yield { type: 'participant', space_id, user_id: ids.other(i), joined_at };
  }
}

/** Yields messages of the account in all spaces, and some appreciations of others. */
function* ownMessageRecords(ids: Ids, canaries: Canaries, count: number): Generator<object> {
  const { letters, unspaced } = canaries;
  for (let i = 0; i < count; i += 1) {
    const message_id = `${letters('message_id')}-${i}`;
    yield {
      type: 'message',
      message_id,
      author_id: ids.account,
      space_id: i % 3 === 0 ? ids.ownSpace(i) : ids.foreignSpace(i),
      text: `Message ${i}: ${letters('text')}, ${accented(letters('folded text'))}, ${unspaced('unspaced text')}`,
      created_at: time(canaries, 'created_at of a message', 1977),
      edited_at: time(canaries, 'edited_at', 1983),
      mentions: [ids.account, ids.other(i)],
    };
    if (i % 10 === 0) {
      const created_at = time(canaries, 'created_at of an appreciation received', 1978);
      yield { type: 'appreciation', message_id, user_id: ids.other(i), created_at };
    }
  }
}

/** Yields messages of others: in spaces of the account, and in their own, which the account and others appreciate. */
function* otherMessageRecords(ids: Ids, canaries: Canaries, count: number): Generator<object> {
  const { letters } = canaries;
  for (let i = 0; i < count; i += 1) {
    const place = i % ids.ownSpaceCount;
    yield {
      type: 'message',
      space_id: ids.ownSpace(place),
      author_id: ids.other(place),
      created_at: CREATED_AT,
      message_id: `${letters('message_id of others in own spaces')}-${i}`,
      text: `${letters('text of others in own spaces')} ${i}`,
    };
    const message_id = `m-${i}`;
    yield {
      type: 'message',
      message_id,
      space_id: ids.foreignSpace(i),
      author_id: ids.other(i),
      created_at: CREATED_AT,
      text: `Stays ${i}`,
      // Their own messages in this space, see above.
      reply_to: i % 3 === 0 ? null : `${letters('message_id')}-${i}`,
      mentions: [ids.account, ids.other(i)],
    };
    yield { type: 'appreciation', message_id, user_id: ids.other(i + 2), created_at: CREATED_AT };
    yield {
      type: 'appreciation',
      message_id,
      user_id: ids.account,
      created_at: time(canaries, 'created_at of an appreciation given', 1979),
    };
  }
}

/** Adds combining marks. The search removes them, so only the index contains the letters without marks. */
function accented(letters: string): string {
  return letters.replaceAll(/./g, '$&\u0301');
}

/** Uses the imported account over HTTP: sessions, an avatar, changes, wrong passwords. */
export async function useAccount(
  url: string,
  canaries: Canaries,
): Promise<Omit<TestUser, 'username' | 'headers'>> {
  const { letters, add } = canaries;
  const email = `${letters('email')}@example.org`;
  const login = {
    client: retryingClientOf(url),
    body: { email, password: PASSWORD, device_name: letters('device_name') },
  };
  await api.login({ ...login, throwOnError: true });
  const { data } = await api.login({ ...login, throwOnError: true });
  const { access_token: token, user_id: userId } = data;
  add('token_hash', createHash('sha256').update(token).digest('hex'));
  const client = retryingClientOf(url, token);
  const authenticated = { client, throwOnError: true } as const;

  await api.createToken({
    ...authenticated,
    body: { name: letters('token_name'), scopes: ['read'], expires_at: '2100-01-01T00:00:00Z' },
  });
  await uploadAvatar({ client });
  add('avatar', (await uploadAvatar({ client })).split('/').at(-1) ?? '');
  await api.changeUsername({ ...authenticated, body: { username: `Jo.${letters('username')}` } });
  await api.changeBio({ ...authenticated, body: { bio: `I am ${letters('bio')}` } });
  const { space_id } = await createSpace(
    { client },
    { title: `Lantern${letters('former title')}`, tags: [letters('former tag')] },
  );
  const path = { space_id };
  await api.updateSpace({ ...authenticated, path, body: { title: 'Renamed', tags: ['baking'] } });
  const text = `To be edited: ${letters('former text')}`;
  const key = randomUUID();
  add('key_hash', createHash('sha256').update(key).digest('hex'));
  const { data: message } = await api.sendMessage({
    ...authenticated,
    headers: { 'Idempotency-Key': key },
    body: { space_id, text },
  });
  const { message_id } = message;
  add('created_id', message_id);
  const edit = { text: `To be deleted: ${letters('edited text')}` };
  await api.editMessage({ ...authenticated, path: { message_id }, body: edit });
  await api.deleteMessage({ ...authenticated, path: { message_id } });

  // Reports by the account, and about it.
  const target = { path: { space_id: 'foreign-0' }, body: { reason: letters('report') } };
  await api.reportSpace({ ...authenticated, ...target });
  const reporter = await register(url, 'reporter');
  await api.reportSpace({
    client: reporter.client,
    path,
    body: { reason: letters('report about the account') },
    throwOnError: true,
  });

  await api.reportUser({
    client: reporter.client,
    path: { user_id: userId },
    body: { reason: letters('report about the person') },
    throwOnError: true,
  });
  await api.blockUser({ ...authenticated, path: { user_id: reporter.userId } });
  await api.blockUser({ client: reporter.client, path: { user_id: userId }, throwOnError: true });

  const wrong = { currentPassword: letters('former wrong password'), newPassword: 'north wind' };
  assert.equal((await api.changePassword({ client, body: wrong })).response?.status, 403);
  const failed = await api.login({
    client: retryingClientOf(url),
    body: { email, password: 'wrong one' },
  });
  assert.equal(failed.response?.status, 401);
  return { userId, email, password: PASSWORD, token, client };
}

/** Adds canaries for values that the service generated. */
export function addGeneratedCanaries(dataDir: string, canaries: Canaries): void {
  const user = `SELECT pk FROM users WHERE user_id = 'u-${canaries.letters('user_id')}'`;
  const queries = {
    'updated_at of the user': `SELECT updated_at FROM users WHERE pk = (${user})`,
    session_id: `SELECT session_id FROM sessions WHERE user_pk = (${user}) ORDER BY pk`,
    request_hash: `SELECT request_hash FROM idempotency_keys WHERE user_pk = (${user})`,
    report_id: `SELECT report_id FROM reports WHERE reporter_pk = (${user})`,
    'generated space_id': `SELECT space_id FROM spaces WHERE creator_pk = (${user}) ORDER BY pk DESC`,
  };
  withDatabase(databaseFile(dataDir), (sqlite) => {
    for (const [name, query] of Object.entries(queries)) {
      canaries.add(name, String(sqlite.prepare(query).pluck().get()));
    }
  });
}
