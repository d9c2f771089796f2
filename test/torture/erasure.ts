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
import { quantile } from '../bench/statistics.ts';
import { avatarFile } from '../support/avatar.ts';
import { assertIndexed, assertIntact, databaseFile } from '../support/integrity.ts';
import { startServer } from '../support/server.ts';
import { type Canaries, openCanaries } from './canaries.ts';
import { clientOf, insist, outcomeOf, type Person, signUp, tally } from './people.ts';
import { assertSound } from './soundness.ts';
import type { Trial } from './trial.ts';

const OTHERS = 20;
const FOREIGN_SPACES = 20;
const PASSWORD = 'correct horse battery';

/** How long the remains may take to be overwritten, in milliseconds. */
const PATIENCE = 300_000;

/** A read that took so long stood still while the account went, in milliseconds. */
const STALL = 1_000;

/** Requests that race with a deletion. */
const RACING = 20;

export const erasure: Trial = {
  promise: 'No byte of a deleted account remains, and other users are not affected.',
  async run(scale) {
    const forgotten = await eraseLargeAccount(scale === 'full' ? 100_000 : 1_000);
    const raced = await raceDeletions(scale === 'full' ? 100 : 5);
    return `${forgotten}; ${raced}`;
  },
};

async function eraseLargeAccount(messages: number): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'space-service-erasure-'));
  try {
    const canaries = openCanaries();
    await importAccount(dataDir, canaries, messages);
    await using server = await startServer({ DATA_DIR: dataDir, WORKERS: '2', RATE_LIMITS: 'on' });
    const gone = await useAccount(server.url, canaries);
    noteStored(dataDir, canaries);
    const before = await canaries.find(dataDir);
    const unseen = canaries.kinds().filter((kind) => !isFormer(kind) && !before.has(kind));
    assert.deepEqual(unseen, [], 'every canary can be found');

    const load = await startLoad(server.url);
    await sleep(messages >= 100_000 ? 5_000 : 1_000);
    const quiet = load.measure();
    const rest = readRest(dataDir, gone.userId);
    const begun = performance.now();
    await api.deleteAccount({ client: gone.client, throwOnError: true });
    const deleted = performance.now() - begun;
    await until(PATIENCE, 'the remains are overwritten', () => isPurged(dataDir));
    const purged = performance.now() - begun;
    const busy = load.measure();
    const sent = await load.stop();
    assert(busy.slowestRead < STALL, `${busy.told} (before: ${quiet.told})`);

    const remains = await canaries.find(dataDir);
    for (const [kind, text] of Object.entries(gone)) {
      if (typeof text === 'string') assert(!server.output().includes(text), `the log: ${kind}`);
    }
    const left = readRest(dataDir);
    for (const [name, rows] of rest) assert.deepEqual(left.get(name), rows, name);
    assert.equal(countMessages(dataDir, load.writer), sent, 'every acknowledged message is there');
    assertIntact(dataDir);
    await assertIndexed(dataDir);
    const avatars = await readdir(join(dataDir, 'avatars'));
    assert.equal(avatars.length, 2, `the default avatar and the other’s: ${avatars}`);

    const rows = [...rest.values()].reduce((sum, each) => sum + each.length, 0);
    const inSeconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(1)} s`;
    const told = `an account of ${messages} messages deleted in ${inSeconds(deleted)} and overwritten after ${inSeconds(purged)}; the ${rows} rows of others are as they should be; others meanwhile: ${busy.told} (before: ${quiet.told}); of ${canaries.kinds().length} kinds of text`;
    assert.deepEqual(Object.fromEntries(remains), {}, `${told}, these remain`);
    return `${told} no part is in any file`;
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Texts that were overwritten while the account was there may be gone already. */
function isFormer(kind: string): boolean {
  return kind.startsWith('former ');
}

/** Imports an account with canaries in all that it can hold, among others with whom it has to do. */
async function importAccount(dataDir: string, canaries: Canaries, messages: number): Promise<void> {
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
  const other = (i: number) => `other-${i % OTHERS}`;
  for (let i = 0; i < OTHERS; i += 1) {
    const email = `other-${i}@example.org`;
    lines.push({ type: 'user', user_id: other(i), username: other(i), email, ...anyTime });
  }

  const foreign = (i: number) => `foreign-${i % FOREIGN_SPACES}`;
  for (let i = 0; i < FOREIGN_SPACES; i += 1) {
    lines.push({
      ...{ type: 'space', space_id: foreign(i), creator_id: other(i), ...anyTime },
      ...{ title: `Tea and lanterns ${i}`, description: 'A harbour', tags: ['baking', '東京'] },
    });
    const space_id = foreign(i);
    lines.push(
      { type: 'participant', space_id, user_id: other(i + 1), joined_at: anyTime.created_at },
      {
        ...{ type: 'participant', space_id, user_id, joined_at: time('joined_at', 1973) },
        left_at: i % 4 === 3 ? time('left_at', 1974) : null,
      },
    );
  }

  const ownSpaces = Math.max(8, messages / 1000);
  const own = (i: number) => `${letters('space_id')}-${i % ownSpaces}`;
  for (let i = 0; i < ownSpaces; i += 1) {
    // Words that share their beginning with the others' stand in an index without it.
    const beginning = i % 2 ? 'lantern' : i.toString(36).padStart(3, 'q');
    const isPrivate = i % 4 === 3;
    lines.push({
      ...{ type: 'space', space_id: own(i), creator_id: user_id },
      title: isPrivate
        ? `Hidden ${letters('private title')}`
        : `Tea ${beginning}${letters('title')} ${accented(letters('folded title'))} ${unspaced('unspaced title')}`,
      description: `${beginning}${letters('description')} ${unspaced('unspaced description')}`,
      tags: ['baking', `Harbour ${letters('tag')}`],
      created_at: time('created_at of a space', 1975),
      ...(isPrivate && {
        visibility: 'private',
        invitation_code: `${letters('invitation_code')}-${i}`,
      }),
    });
    const joined_at = time('joined_at of others in own spaces', 1976);
    lines.push({ type: 'participant', space_id: own(i), user_id: other(i), joined_at });
  }

  for (let i = 0; i < messages; i += 1) {
    const isOwn = i % 3 === 0;
    const message_id = `${letters('message_id')}-${i}`;
    lines.push({
      ...{ type: 'message', message_id, author_id: user_id },
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
        ...{ type: 'message', space_id: own(place), author_id: other(place), ...anyTime },
        message_id: `${letters('message_id of others in own spaces')}-${i}`,
        text: `${letters('text of others in own spaces')} ${i}`,
      },
      {
        ...{ type: 'message', message_id, space_id: foreign(i), author_id: other(i), ...anyTime },
        text: `Stays ${i}`,
      },
      { type: 'appreciation', message_id, user_id: other(i + 2), ...anyTime },
      {
        ...{ type: 'appreciation', message_id, user_id },
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

/** Marks that search folds away, so that only an index holds the letters side by side. */
function accented(letters: string): string {
  return letters.replaceAll(/./g, '$&\u0301');
}

/** Uses the imported account by HTTP: sessions, an avatar, changes, wrong passwords. */
async function useAccount(url: string, canaries: Canaries): Promise<Person> {
  const { letters, add } = canaries;
  const email = `${letters('email')}@example.org`;
  const login = { client: clientOf(url), body: { email, password: PASSWORD } };
  await api.login({ ...login, throwOnError: true });
  const { data } = await api.login({ ...login, throwOnError: true });
  const { access_token: token, user_id: userId } = data;
  add('token_hash', createHash('sha256').update(token).digest('hex'));
  const client = clientOf(url, token);
  const done = { client, throwOnError: true } as const;

  await api.changeProfilePicture({ ...done, body: { avatar: await avatarFile() } });
  const { data: changed } = await api.changeProfilePicture({
    ...done,
    body: { avatar: await avatarFile() },
  });
  add('avatar', changed.profile_picture.split('/').at(-1) ?? '');
  await api.changeUsername({ ...done, body: { username: `Jo.${letters('username')}` } });
  await api.changeBio({ ...done, body: { bio: `I am ${letters('bio')}` } });
  const space = { description: '', visibility: 'public' as const, tags: [letters('former tag')] };
  const { data: made } = await api.createSpace({
    ...done,
    body: { ...space, title: `Lantern${letters('former title')}` },
  });
  const path = { space_id: made.space_id };
  await api.updateSpace({ ...done, path, body: { title: 'Renamed', tags: ['baking'] } });
  const text = `To be deleted: ${letters('former text')}`;
  const { data: sent } = await api.sendMessage({ ...done, body: { ...path, text } });
  await api.deleteMessage({ ...done, path: { message_id: sent.message_id } });

  const wrong = { currentPassword: letters('former wrong password'), newPassword: 'north wind' };
  assert.equal((await api.changePassword({ client, body: wrong })).response?.status, 403);
  const failed = await api.login({ client: clientOf(url), body: { email, password: 'wrong one' } });
  assert.equal(failed.response?.status, 401);
  return { userId, email, password: PASSWORD, token, client };
}

/** Adds what only the database knows of the account. */
function noteStored(dataDir: string, canaries: Canaries): void {
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    const user = `SELECT pk FROM users WHERE user_id = 'u-${canaries.letters('user_id')}'`;
    const value = (query: string) => String(sqlite.prepare(query).pluck().get());
    canaries.add(
      'updated_at of the user',
      value(`SELECT updated_at FROM users WHERE pk = (${user})`),
    );
    canaries.add(
      'space_id given by the service',
      value(`SELECT space_id FROM spaces WHERE creator_pk = (${user}) ORDER BY pk DESC`),
    );
  } finally {
    sqlite.close();
  }
}

/**
 * The rows of a database by table, as they are, or those that stay when a user goes. What is made from them, the
 * indexes of the search, is left to a comparison with indexes made anew.
 */
function readRest(dataDir: string, userId = ''): Map<string, string[]> {
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    const gone = sqlite.prepare('SELECT pk FROM users WHERE user_id = ?').pluck().get(userId) ?? 0;
    const own = `(SELECT pk FROM spaces WHERE creator_pk = ${gone})`;
    const inOwn = `(SELECT pk FROM messages WHERE space_pk IN ${own})`;
    const counted = `participant_count - EXISTS (SELECT 1 FROM participations
      WHERE space_pk = spaces.pk AND user_pk = ${gone} AND left_at IS NULL)`;
    const writing = `(SELECT pk FROM users WHERE username = '${WRITER}')`;
    const queries = {
      users: `* FROM users WHERE pk != ${gone}`,
      sessions: `* FROM sessions WHERE user_pk != ${gone}`,
      spaces: `pk, space_id, creator_pk, title, description, visibility, invitation_code, ${counted},
        created_at FROM spaces WHERE creator_pk != ${gone}`,
      participations: `* FROM participations WHERE user_pk != ${gone} AND space_pk NOT IN ${own}`,
      messages: `* FROM messages WHERE author_pk != ${gone} AND space_pk NOT IN ${own}
        AND author_pk NOT IN ${writing}`,
      appreciations: `* FROM appreciations
        WHERE user_pk != ${gone} AND author_pk != ${gone} AND message_pk NOT IN ${inOwn}`,
      space_tags: `* FROM space_tags WHERE space_pk NOT IN ${own}`,
      tags: `* FROM tags WHERE tag_id IN (SELECT tag_id FROM space_tags WHERE space_pk NOT IN ${own})`,
      discarded_avatars: '* FROM discarded_avatars',
    };
    const entries = Object.entries(queries).map(([name, query]): [string, string[]] => {
      const rows = sqlite.prepare(`SELECT ${query}`).raw().all();
      return [name, rows.map((row) => JSON.stringify(row)).sort()];
    });
    return new Map(entries);
  } finally {
    sqlite.close();
  }
}

const WRITER = 'bystander';

/** Has somebody else read and write all the time, and measures how long they wait. */
async function startLoad(url: string) {
  const person = await signUp(url, WRITER);
  const { client, userId } = person;
  await api.changeProfilePicture({
    client,
    body: { avatar: await avatarFile() },
    throwOnError: true,
  });
  const space_id = 'foreign-0';
  await api.joinSpace({ client, path: { space_id }, body: {}, throwOnError: true });
  const reads = [
    () => api.searchSpaces({ client, query: { q: 'tea' } }),
    () => api.searchSpacesByTag({ client, path: { tag: 'baking' } }),
    () => api.getProfile({ client }),
    () => api.getUser({ client, path: { user_id: userId } }),
    () => api.getSpace({ client, path: { space_id } }),
  ];
  const times = { reads: [] as number[], writes: [] as number[] };
  let isStopping = false;
  let sent = 0;
  const timed = async (
    kind: keyof typeof times,
    request: () => Promise<{ response?: Response }>,
  ) => {
    const begun = performance.now();
    const answer = await request();
    times[kind].push(performance.now() - begun);
    assert(answer.response?.ok, `one of the others’ ${kind}: ${JSON.stringify(answer)}`);
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
  // Reported when it is stopped.
  running.catch(() => {});
  return {
    writer: WRITER,
    /** What was measured since the last time. */
    measure() {
      const told = Object.entries(times).map(([kind, each]) => {
        const [p99, most] = [quantile(each, 0.99), Math.max(...each)];
        return `${each.length} ${kind}, p99 ${p99.toFixed(1)} ms, at most ${most.toFixed(0)} ms`;
      });
      const slowestRead = Math.max(...times.reads);
      Object.assign(times, { reads: [], writes: [] });
      return { told: told.join('; '), slowestRead };
    },
    /** Answers with the number of messages sent. */
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

/** Deletes accounts while they upload, change and read. */
async function raceDeletions(rounds: number): Promise<string> {
  await using server = await startServer({ WORKERS: '2' });
  const keeper = await signUp(server.url, 'keeper');
  const kept = { client: keeper.client, throwOnError: true } as const;
  const space = { title: 'Tea', description: '', visibility: 'public' as const, tags: ['baking'] };
  const { data: foreign } = await api.createSpace({ ...kept, body: space });
  const { data: message } = await api.sendMessage({
    ...kept,
    body: { space_id: foreign.space_id, text: 'Hello' },
  });
  const avatar = await avatarFile();
  const outcomes: ReturnType<typeof outcomeOf>[] = [];

  for (let round = 0; round < rounds; round += 1) {
    const { client, email, password } = await signUp(server.url, `passing-${round}`);
    const path = { space_id: foreign.space_id };
    const { message_id } = message;
    await api.joinSpace({ client, path, body: {}, throwOnError: true });
    const upload = () => api.changeProfilePicture({ client, body: { avatar } });
    const requests: (() => Promise<{ response?: Response; error?: unknown }>)[] = [
      ...[upload, upload, upload, upload, upload, upload],
      () => api.removeProfilePicture({ client }),
      () => api.changeUsername({ client, body: { username: `late-${round}` } }),
      () => api.changeBio({ client, body: { bio: 'Too late?' } }),
      () => api.createSpace({ client, body: { ...space, title: 'Belated' } }),
      () =>
        api.createSpace({ client, body: { ...space, title: 'Belated', visibility: 'private' } }),
      () => api.sendMessage({ client, body: { ...path, text: 'Wait!' } }),
      () => api.appreciateMessage({ client, path: { message_id } }),
      () => api.leaveSpace({ client, path }),
      () => api.login({ client: clientOf(server.url), body: { email, password } }),
      () => api.getProfile({ client }),
      () => api.listParticipations({ client }),
      () => api.listMessages({ client, query: path }),
      () => api.searchSpaces({ client, query: { q: 'belated' } }),
      () => api.deleteAccount({ client }),
    ];
    assert.equal(requests.length, RACING);
    const answers = requests.map(async (request) => {
      await sleep(Math.random() * 60);
      return outcomeOf(await insist(request));
    });
    await sleep(Math.random() * 80);
    const deletion = outcomeOf(await insist(() => api.deleteAccount({ client })));
    outcomes.push(deletion, ...(await Promise.all(answers)));
  }
  // Done before it, or refused because there is nobody any more, or not in the space.
  const bad = outcomes.filter(({ status = 0 }) => ![200, 201, 401, 403].includes(status));
  assert.deepEqual(bad, [], tally(outcomes));

  // Before the next round of housekeeping, which is minutes away.
  const folder = join(server.dataDir, 'avatars');
  const countRest = () =>
    Object.fromEntries([...readRest(server.dataDir)].map(([name, rows]) => [name, rows.length]));
  const isAlone = async () =>
    (await readdir(folder)).length === 1 && countRest().discarded_avatars === 0;
  await until(10_000, 'no avatar is left but the default one', isAlone);
  const counts = countRest();
  assert.deepEqual(counts, {
    ...{ users: 1, sessions: 1, spaces: 1, participations: 1, messages: 1, appreciations: 0 },
    ...{ space_tags: 1, tags: 1, discarded_avatars: 0 },
  });
  await assertSound(server.dataDir);
  await assertIndexed(server.dataDir);
  const before = outcomes.filter(({ status }) => status !== 401).length;
  return `${rounds} deletions, each racing with ${RACING} uploads, changes and reads (${before} done, ${outcomes.length - before} too late): no row or file without an owner, and no failure`;
}

async function until(
  milliseconds: number,
  what: string,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + milliseconds;
  while (!(await isSo())) {
    assert(performance.now() < deadline, `within ${milliseconds / 1000} s, ${what}`);
    await sleep(20);
  }
}
