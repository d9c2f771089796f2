import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Sqlite from 'better-sqlite3';
import * as api from '../../generated/sdk.gen.ts';
import { hashPassword } from '../../server/auth/password-hashing.ts';
import { operations } from '../../server/contract.ts';
import { quantile } from '../bench/statistics.ts';
import { avatarFile } from '../support/avatar.ts';
import { declaredStatuses } from '../support/contract.ts';
import { assertIndexed, assertIntact, databaseFile } from '../support/integrity.ts';
import { startServer } from '../support/server.ts';
import { columnsOf, foreignKeysOf, primaryKeyOf, tablesOf } from '../support/tables.ts';
import { type Canaries, openCanaries } from './canaries.ts';
import {
  clientOf,
  outcomeOf,
  type Person,
  register,
  retryWhileUnavailable,
  sendExample,
  tally,
} from './people.ts';
import { assertSound } from './soundness.ts';
import type { Trial } from './trial.ts';

const OTHER_USERS = 20;
const MIN_SPACES_OF_OTHERS = 20;
const TAGS_PER_SPACE = 5;
const PASSWORD = 'correct horse battery';

/** Maximum time until erased bytes are overwritten. */
const PURGE_TIMEOUT_MS = 300_000;

/** Maximum latency of other users' reads and writes during a deletion. */
const MAX_LATENCY_MS = 1_000;

/** With rate limits, because their counters could contain traces of an account, but without limits for the load. */
const SETTINGS = {
  RATE_LIMITS: 'on',
  PUBLIC_RATE_LIMIT: 'off',
  MESSAGES_PER_HOUR: '1000000',
  MESSAGES_PER_DAY: '1000000',
};

/** Operations that are not sent during the deletion of their account, with the reason. */
const notRacing: Readonly<Record<string, string>> = {
  register: 'It would create another account.',
  logout: 'The deletion requires the session.',
  endSession: 'The deletion requires the session.',
};

/** Maximum time until the dictionary contains the words of all spaces. */
const DICTIONARY_TIMEOUT_MS = 60_000;

export const erasure: Trial = {
  promise: 'No byte of a deleted account remains, and other users are not affected.',
  runsOnPostgresql: false,
  async run(scale) {
    const erased = await eraseLargeAccount(scale === 'full' ? 100_000 : 1_000);
    const raced = await raceDeletions(scale === 'full' ? 100 : 5);
    return `${erased}; ${raced}`;
  },
};

async function eraseLargeAccount(messages: number): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'space-service-erasure-'));
  try {
    const canaries = openCanaries();
    await importAccount(dataDir, canaries, messages);
    await using server = await startServer({ DATA_DIR: dataDir, WORKERS: '2', ...SETTINGS });
    const gone = await useAccount(server.url, canaries);
    addGeneratedCanaries(dataDir, canaries);
    const before = await canaries.find(dataDir);
    const missing = canaries.kinds().filter((kind) => !isFormer(kind) && !before.has(kind));
    assert.deepEqual(missing, [], 'these canaries are not in the files before the deletion');
    await waitUntil(
      DICTIONARY_TIMEOUT_MS,
      'the dictionary is built',
      () => readTrie(dataDir) !== undefined,
    );
    const ending = Buffer.from(canaries.letters('title').slice(-5), 'utf16le');
    assert(readTrie(dataDir)?.includes(ending), 'the dictionary has no words of the account');

    const load = await startLoad(server.url);
    await sleep(messages >= 100_000 ? 5_000 : 1_000);
    const baseline = load.measure();
    const otherRows = readOtherRows(dataDir, gone.userId);
    const startedAt = performance.now();
    await api.deleteAccount({ client: gone.client, throwOnError: true });
    const deleted = performance.now() - startedAt;
    await waitUntil(PURGE_TIMEOUT_MS, 'the deleted bytes are overwritten', () => isPurged(dataDir));
    const purged = performance.now() - startedAt;
    const busy = load.measure();
    const sent = await load.stop();
    assert(busy.slowest < MAX_LATENCY_MS, `${busy.summary} (before: ${baseline.summary})`);

    const remains = await canaries.find(dataDir);
    for (const [kind, text] of Object.entries(gone)) {
      if (typeof text === 'string') assert(!server.output().includes(text), `the log: ${kind}`);
    }
    const left = readOtherRows(dataDir);
    for (const [name, rows] of otherRows) assert.deepEqual(left.get(name), rows, name);
    assert.equal(countMessages(dataDir, load.writer), sent, 'every acknowledged message is stored');
    assertIntact(dataDir);
    await waitUntil(
      DICTIONARY_TIMEOUT_MS,
      'the dictionary is rebuilt',
      () => readTrie(dataDir) !== undefined,
    );
    await assertIndexed(dataDir);
    const avatars = await readdir(join(dataDir, 'avatars'));
    assert.equal(
      avatars.length,
      2,
      `not only the default avatar and one of another user: ${avatars}`,
    );

    const rows = [...otherRows.values()].reduce((sum, each) => sum + each.length, 0);
    const inSeconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(1)} s`;
    const summary = `an account of ${messages} messages deleted in ${inSeconds(deleted)} and overwritten after ${inSeconds(purged)}; the ${rows} rows of other users are unchanged; latencies of other users during the deletion: ${busy.summary} (before: ${baseline.summary}); of ${canaries.kinds().length} kinds of text`;
    assert.deepEqual(Object.fromEntries(remains), {}, `${summary}, these remain`);
    return `${summary} no part is in any file`;
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Operations that can return 403 and would do so for the user who reads during the deletion. */
const forCreators = new Set(
  declaredStatuses()
    .filter((each) => each.endsWith(' 403'))
    .map((each) => each.split(' ')[0]),
);

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

/** Returns whether the text was already overwritten before the deletion, so that files need not contain it. */
function isFormer(kind: string): boolean {
  return kind.startsWith('former ');
}

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
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const script = fileURLToPath(new URL('../../server/commands/import.ts', import.meta.url));
  const env = { PATH: process.env.PATH, DATA_DIR: dataDir };
  await promisify(execFile)(process.execPath, [script, file], { env });
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

  await api.changeProfilePicture({ ...authenticated, body: { avatar: await avatarFile() } });
  const { data: changed } = await api.changeProfilePicture({
    ...authenticated,
    body: { avatar: await avatarFile() },
  });
  add('avatar', changed.profile_picture.split('/').at(-1) ?? '');
  await api.changeUsername({ ...authenticated, body: { username: `Jo.${letters('username')}` } });
  await api.changeBio({ ...authenticated, body: { bio: `I am ${letters('bio')}` } });
  const space = { description: '', visibility: 'public' as const, tags: [letters('former tag')] };
  const { data: made } = await api.createSpace({
    ...authenticated,
    body: { ...space, title: `Lantern${letters('former title')}` },
  });
  const path = { space_id: made.space_id };
  await api.updateSpace({ ...authenticated, path, body: { title: 'Renamed', tags: ['baking'] } });
  const text = `To be deleted: ${letters('former text')}`;
  const { data: sent } = await api.sendMessage({ ...authenticated, body: { ...path, text } });
  await api.deleteMessage({ ...authenticated, path: { message_id: sent.message_id } });

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
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    const user = `SELECT pk FROM users WHERE user_id = 'u-${canaries.letters('user_id')}'`;
    const value = (query: string) => String(sqlite.prepare(query).pluck().get());
    canaries.add(
      'updated_at of the user',
      value(`SELECT updated_at FROM users WHERE pk = (${user})`),
    );
    canaries.add(
      'session_id',
      value(`SELECT session_id FROM sessions WHERE user_pk = (${user}) ORDER BY pk`),
    );
    canaries.add('report_id', value(`SELECT report_id FROM reports WHERE reporter_pk = (${user})`));
    canaries.add(
      'generated space_id',
      value(`SELECT space_id FROM spaces WHERE creator_pk = (${user}) ORDER BY pk DESC`),
    );
  } finally {
    sqlite.close();
  }
}

/**
 * Reads the stored rows of each table, except those that must be deleted with a user according to the foreign keys.
 * Search indexes are not read, because another check compares them with a rebuild.
 */
function readOtherRows(dataDir: string, userId = ''): Map<string, string[]> {
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    const gone = sqlite.prepare('SELECT pk FROM users WHERE user_id = ?').pluck().get(userId) ?? 0;
    const isDeleted = (table: string): string => {
      if (table === 'users') return `pk = ${gone}`;
      // A tag is deleted with its last space.
      if (table === 'tags')
        return `tag_id NOT IN (SELECT tag_id FROM space_tags WHERE ${isKept('space_tags')})`;
      const parents = foreignKeysOf(sqlite, table).filter(({ cascades }) => cascades);
      const conditions = parents.map(
        ({ column, parent }) =>
          `${column} IN (SELECT ${primaryKeyOf(sqlite, parent)} FROM ${parent} WHERE ${isDeleted(parent)})`,
      );
      return conditions.join(' OR ') || 'FALSE';
    };
    // Not `NOT`, because a report has a null in one of its foreign keys.
    const isKept = (table: string) => `(${isDeleted(table)}) IS NOT TRUE`;
    const counted = `participant_count - EXISTS (SELECT 1 FROM participations
      WHERE space_pk = spaces.pk AND user_pk = ${gone} AND left_at IS NULL)`;
    // The load generator continues to write as this user. Its messages are counted separately.
    const written = `author_pk IN (SELECT pk FROM users WHERE username = '${WRITER}')`;

    const entries = [...tablesOf('stored'), 'discarded_avatars'].map(
      (table): [string, string[]] => {
        const columns = columnsOf(sqlite, table).map(({ name }) =>
          name === 'participant_count' ? counted : name,
        );
        const others = table === 'messages' ? `AND NOT ${written}` : '';
        const rows = sqlite
          .prepare(`SELECT ${columns} FROM ${table} WHERE ${isKept(table)} ${others}`)
          .raw()
          .all();
        return [table, rows.map((row) => JSON.stringify(row)).sort()];
      },
    );
    return new Map(entries);
  } finally {
    sqlite.close();
  }
}

/** Returns the stored words of the dictionary; undefined if it is older than the last change. */
function readTrie(dataDir: string): Buffer | undefined {
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    const current = `SELECT trie FROM dictionary, search_revision
      WHERE built_revision >= search_revision.value`;
    return sqlite.prepare(current).pluck().get() as Buffer | undefined;
  } finally {
    sqlite.close();
  }
}

const WRITER = 'bystander';

/** Reads and writes continuously as another user and measures latencies. */
async function startLoad(url: string) {
  const person = await register(url, WRITER);
  const { client, userId, token } = person;
  await api.changeProfilePicture({
    client,
    body: { avatar: await avatarFile() },
    throwOnError: true,
  });
  const space_id = 'foreign-0';
  await api.joinSpace({ client, path: { space_id }, body: {}, throwOnError: true });
  const values = { q: 'tea', tag: 'baking', user_id: userId, space_id };
  const reads = operations
    .filter(({ method, operationId }) => method === 'GET' && !forCreators.has(operationId))
    .map((operation) => () => sendExample(url, operation, values, token));
  const times = { reads: [] as number[], writes: [] as number[] };
  let isStopping = false;
  let sent = 0;
  const timed = async (
    kind: keyof typeof times,
    request: () => Promise<{ response?: Response }>,
  ) => {
    const begun = performance.now();
    const result = await request();
    times[kind].push(performance.now() - begun);
    assert(result.response?.ok, `${kind} of other users failed: ${JSON.stringify(result)}`);
  };
  const running = Promise.all([
    ...[0, 1].map(async (first) => {
      for (let i = first; !isStopping; i += 1) {
        await timed('reads', reads[i % reads.length] as (typeof reads)[number]);
        await sleep(2);
      }
    }),
    (async () => {
      while (!isStopping) {
        const body = { space_id, text: `Still here, ${sent}` };
        await timed('writes', () => api.sendMessage({ client, body }));
        sent += 1;
        await sleep(5);
      }
    })(),
  ]);
  // stop() rejects with the error. Until then, it must not count as unhandled.
  running.catch(() => {});
  return {
    writer: WRITER,
    /** Returns the measurements since the last call. */
    measure() {
      const summaries = Object.entries(times).map(([kind, each]) => {
        const [p99, max] = [quantile(each, 0.99), Math.max(...each)];
        return `${each.length} ${kind}, p99 ${p99.toFixed(1)} ms, at most ${max.toFixed(0)} ms`;
      });
      const slowest = Math.max(...times.reads, ...times.writes);
      Object.assign(times, { reads: [], writes: [] });
      return { summary: summaries.join('; '), slowest };
    },
    /** Returns the number of messages sent. */
    async stop() {
      isStopping = true;
      await running;
      return sent;
    },
  };
}

function countMessages(dataDir: string, username: string): number {
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    return sqlite
      .prepare(
        'SELECT count(*) FROM messages JOIN users ON users.pk = author_pk WHERE username = ?',
      )
      .pluck()
      .get(username) as number;
  } finally {
    sqlite.close();
  }
}

function isPurged(dataDir: string): boolean {
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    return sqlite.prepare('SELECT count(*) FROM pending_purges').pluck().get() === 0;
  } finally {
    sqlite.close();
  }
}

/** Deletes accounts while their own requests are in progress. */
async function raceDeletions(rounds: number): Promise<string> {
  await using server = await startServer({ WORKERS: '2' });
  const keeper = await register(server.url, 'keeper');
  const kept = { client: keeper.client, throwOnError: true } as const;
  const space = { title: 'Tea', description: '', visibility: 'public' as const, tags: ['baking'] };
  const { data: foreign } = await api.createSpace({ ...kept, body: space });
  const { data: message } = await api.sendMessage({
    ...kept,
    body: { space_id: foreign.space_id, text: 'Hello' },
  });
  const avatar = await avatarFile();
  const outcomes: ReturnType<typeof outcomeOf>[] = [];
  let racing = 0;

  for (let round = 0; round < rounds; round += 1) {
    const { client, token, email, password } = await register(server.url, `passing-${round}`);
    const path = { space_id: foreign.space_id };
    await api.joinSpace({ client, path, body: {}, throwOnError: true });
    const values = {
      email,
      password,
      currentPassword: password,
      username: `late-${round}`,
      title: 'Belated',
      q: 'belated',
      text: 'Wait!',
      bio: 'Too late?',
      ...path,
      message_id: message.message_id,
      user_id: keeper.userId,
    };
    const upload = () => api.changeProfilePicture({ client, body: { avatar } });
    const requests: (() => Promise<{ response?: Response; error?: unknown }>)[] = [
      ...operations
        .filter(({ operationId }) => !Object.hasOwn(notRacing, operationId))
        .map((operation) => () => sendExample(server.url, operation, values, token)),
      ...[upload, upload, upload, upload, upload, upload],
      () =>
        api.createSpace({ client, body: { ...space, title: 'Belated', visibility: 'private' } }),
    ];
    racing = requests.length;
    const results = requests.map(async (request) => {
      await sleep(Math.random() * 60);
      return outcomeOf(await retryWhileUnavailable(request));
    });
    await sleep(Math.random() * 80);
    const deletion = outcomeOf(await retryWhileUnavailable(() => api.deleteAccount({ client })));
    outcomes.push(deletion, ...(await Promise.all(results)));
  }
  // Completed before the deletion, or rejected because the account or the participation is gone.
  const bad = outcomes.filter(({ status = 0 }) => ![200, 201, 401, 403].includes(status));
  assert.deepEqual(bad, [], tally(outcomes));

  // The requests to delete the accounts must remove the files. The next run of housekeeping is minutes later.
  const folder = join(server.dataDir, 'avatars');
  const countRows = () =>
    Object.fromEntries(
      [...readOtherRows(server.dataDir)].map(([name, rows]) => [name, rows.length]),
    );
  const isCleanedUp = async () =>
    (await readdir(folder)).length === 1 && countRows().discarded_avatars === 0;
  await waitUntil(10_000, 'only the default avatar remains', isCleanedUp);
  const counts = countRows();
  const none = Object.fromEntries(Object.keys(counts).map((table) => [table, 0]));
  assert.deepEqual(counts, {
    ...none,
    users: 1,
    sessions: 1,
    spaces: 1,
    participations: 1,
    messages: 1,
    space_tags: 1,
    tags: 1,
  });
  await assertSound(server.location);
  await assertIndexed(server.dataDir);
  const before = outcomes.filter(({ status }) => status !== 401).length;
  return `${rounds} deletions, each racing with ${racing} uploads, changes and reads (${before} done, ${outcomes.length - before} too late): no row or file without an owner, and no failure`;
}

/** @param description the condition as a sentence, for the error message */
async function waitUntil(
  timeoutMs: number,
  description: string,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    assert(performance.now() < deadline, `not within ${timeoutMs / 1000} s: ${description}`);
    await sleep(20);
  }
}
