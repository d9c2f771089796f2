import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as api from '../../../generated/sdk.gen.ts';
import { hashPassword } from '../../../server/auth/password-hashing.ts';
import { uploadAvatar } from '../../support/avatar.ts';
import { clientOf } from '../../support/client.ts';
import { completeCommand } from '../../support/commands.ts';
import { databaseFile, withDatabase } from '../../support/integrity.ts';
import { toNdjson } from '../../support/ndjson.ts';
import { createSpace, sendMessage } from '../../support/spaces.ts';
import type { Canaries } from '../canaries.ts';
import { type Person, register } from '../people.ts';

// The account whose deletion must leave no byte.

const OTHER_USERS = 20;
const MIN_SPACES_OF_OTHERS = 20;
const TAGS_PER_SPACE = 5;
const PASSWORD = 'correct horse battery';

/** Text columns that cannot contain a canary, by reason. */
export const withoutCanary: Readonly<Record<string, readonly string[]>> = {
  'Contains one of two constants.': ['spaces.visibility'],
  'Is null for an account that can delete itself.': ['users.suspended_at'],
  'Contains the current time, which is not unique.': [
    'sessions.created_at',
    'sessions.last_used_at',
    'reports.created_at',
  ],
};

/** Imports an account with canaries in every field, and other users who share spaces with it. */
export async function importAccount(
  dataDir: string,
  canaries: Canaries,
  messages: number,
): Promise<void> {
  const { letters, unspaced, add } = canaries;
  const lines: object[] = [];
  const time = (kind: string, year: number) => {
    const text = `${year}-07-06T05:04:03.021Z`;
    add(kind, text);
    return text;
  };
  const anyTime = { created_at: '2020-01-01T00:00:00Z' };
  const passwordHash = await hashPassword(PASSWORD);
  add('password_hash', passwordHash.slice(-43));
  const user_id = `u-${letters('user_id')}`;
  lines.push({
    type: 'user',
    user_id,
    username: `Jo-${letters('former username')}`,
    email: `${letters('email')}@Example.org`,
    password_hash: passwordHash,
    bio: `I am ${letters('former bio')}`,
    created_at: time('created_at of the user', 1971),
    updated_at: time('former updated_at of the user', 1972),
  });
  const other = (i: number) => `other-${i % OTHER_USERS}`;
  for (let i = 0; i < OTHER_USERS; i += 1) {
    const email = `other-${i}@example.org`;
    lines.push({ type: 'user', user_id: other(i), username: other(i), email, ...anyTime });
  }

  // With 100,000 messages, the account almost reaches the default quotas of spaces, participations and tags.
  const ownSpaces = Math.max(8, messages / 100 - 10);
  const foreignSpaces = Math.max(MIN_SPACES_OF_OTHERS, messages / 100);
  const foreign = (i: number) => `foreign-${i % foreignSpaces}`;
  for (let i = 0; i < foreignSpaces; i += 1) {
    lines.push({
      type: 'space',
      space_id: foreign(i),
      creator_id: other(i),
      ...anyTime,
      title: `Tea and lanterns ${i}`,
      description: 'A harbour',
      tags: ['baking', '東京'],
    });
    const space_id = foreign(i);
    lines.push(
      { type: 'participant', space_id, user_id: other(i + 1), joined_at: anyTime.created_at },
      {
        type: 'participant',
        space_id,
        user_id,
        joined_at: time('joined_at', 1973),
        left_at: i % 4 === 3 ? time('left_at', 1974) : null,
        removed_at: i % 8 === 7 ? time('removed_at', 1980) : null,
      },
    );
  }

  const own = (i: number) => `${letters('space_id')}-${i % ownSpaces}`;
  for (let i = 0; i < ownSpaces; i += 1) {
    // An index stores words without their common prefixes.
    const beginning = i % 2 ? 'lantern' : i.toString(36).padStart(3, 'q');
    const isPrivate = i % 4 === 3;
    lines.push({
      type: 'space',
      space_id: own(i),
      creator_id: user_id,
      title: isPrivate
        ? `Hidden ${letters('private title')}`
        : `Tea ${beginning}${letters('title')} ${accented(letters('folded title'))} ${unspaced('unspaced title')}`,
      description: `${beginning}${letters('description')} ${unspaced('unspaced description')}`,
      tags: Array.from({ length: TAGS_PER_SPACE }, (_, j) =>
        j === 0 ? 'baking' : `Harbour ${letters('tag')} ${i} ${j}`,
      ),
      created_at: time('created_at of a space', 1975),
      ...(isPrivate && {
        visibility: 'private',
        invitation_code: `${letters('invitation_code')}-${i}`.padStart(22, '-'),
      }),
    });
    const joined_at = time('joined_at of others in own spaces', 1976);
    lines.push({ type: 'participant', space_id: own(i), user_id: other(i), joined_at });
  }

  for (let i = 0; i < messages; i += 1) {
    const isOwn = i % 3 === 0;
    const message_id = `${letters('message_id')}-${i}`;
    lines.push({
      type: 'message',
      message_id,
      author_id: user_id,
      space_id: isOwn ? own(i) : foreign(i),
      text: `Message ${i}: ${letters('text')}, ${unspaced('unspaced text')}`,
      created_at: time('created_at of a message', 1977),
    });
    if (i % 10 === 0) {
      const created_at = time('created_at of an appreciation received', 1978);
      lines.push({ type: 'appreciation', message_id, user_id: other(i), created_at });
    }
  }
  for (let i = 0; i < messages / 20; i += 1) {
    const message_id = `m-${i}`;
    const place = i % ownSpaces;
    lines.push(
      {
        type: 'message',
        space_id: own(place),
        author_id: other(place),
        ...anyTime,
        message_id: `${letters('message_id of others in own spaces')}-${i}`,
        text: `${letters('text of others in own spaces')} ${i}`,
      },
      {
        type: 'message',
        message_id,
        space_id: foreign(i),
        author_id: other(i),
        ...anyTime,
        text: `Stays ${i}`,
      },
      { type: 'appreciation', message_id, user_id: other(i + 2), ...anyTime },
      {
        type: 'appreciation',
        message_id,
        user_id,
        created_at: time('created_at of an appreciation given', 1979),
      },
    );
  }
  const file = join(dataDir, '..', `${user_id}.ndjson`);
  await writeFile(file, toNdjson(lines));
  await completeCommand('commands/import', [file], { DATA_DIR: dataDir });
  await rm(file);
}

/** Adds combining marks. The search removes them, so only the index contains the letters without marks. */
function accented(letters: string): string {
  return letters.replaceAll(/./g, '$&\u0301');
}

/** Uses the imported account over HTTP: sessions, an avatar, changes, wrong passwords. */
export async function useAccount(url: string, canaries: Canaries): Promise<Person> {
  const { letters, add } = canaries;
  const email = `${letters('email')}@example.org`;
  const login = { client: clientOf(url), body: { email, password: PASSWORD } };
  await api.login({ ...login, throwOnError: true });
  const { data } = await api.login({ ...login, throwOnError: true });
  const { access_token: token, user_id: userId } = data;
  add('token_hash', createHash('sha256').update(token).digest('hex'));
  const client = clientOf(url, token);
  const authenticated = { client, throwOnError: true } as const;

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
  const text = `To be deleted: ${letters('former text')}`;
  const { message_id } = await sendMessage({ client }, path, text);
  await api.deleteMessage({ ...authenticated, path: { message_id } });

  // One report by the account, and one about it.
  const target = { path: { space_id: 'foreign-0' }, body: { reason: letters('report') } };
  await api.reportSpace({ ...authenticated, ...target });
  const reporter = await register(url, 'reporter');
  await api.reportSpace({
    client: reporter.client,
    path,
    body: { reason: letters('report about the account') },
    throwOnError: true,
  });

  const wrong = { currentPassword: letters('former wrong password'), newPassword: 'north wind' };
  assert.equal((await api.changePassword({ client, body: wrong })).response?.status, 403);
  const failed = await api.login({ client: clientOf(url), body: { email, password: 'wrong one' } });
  assert.equal(failed.response?.status, 401);
  return { userId, email, password: PASSWORD, token, client };
}

/** Adds canaries for values that the service generated. */
export function addGeneratedCanaries(dataDir: string, canaries: Canaries): void {
  const user = `SELECT pk FROM users WHERE user_id = 'u-${canaries.letters('user_id')}'`;
  const queries = {
    'updated_at of the user': `SELECT updated_at FROM users WHERE pk = (${user})`,
    session_id: `SELECT session_id FROM sessions WHERE user_pk = (${user}) ORDER BY pk`,
    report_id: `SELECT report_id FROM reports WHERE reporter_pk = (${user})`,
    'generated space_id': `SELECT space_id FROM spaces WHERE creator_pk = (${user}) ORDER BY pk DESC`,
  };
  withDatabase(databaseFile(dataDir), (sqlite) => {
    for (const [name, query] of Object.entries(queries)) {
      canaries.add(name, String(sqlite.prepare(query).pluck().get()));
    }
  });
}
