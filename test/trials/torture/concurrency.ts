import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Client } from '../../../generated/client/index.ts';
import * as api from '../../../generated/sdk.gen.ts';
import type { Engine } from '../../../server/database/engine.ts';
import { openDatabase } from '../../../server/database/open.ts';
import { avatarFile } from '../../support/avatar.ts';
import { clientOf, register, type TestUser } from '../../support/client.ts';
import { createTestDatabase, isPostgresql } from '../../support/databases.ts';
import { draw, drawName, remember } from '../../support/drawing.ts';
import { type Server, startServer } from '../../support/server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { registerAll } from './people.ts';
import { assertRebuildMatches, assertSound } from './soundness.ts';
import type { Trial } from './trial.ts';

// Everything is scarce, so that most operations meet others on the same rows.
const ACCOUNTS = 20;
const MAX_SPACES = 30;
const MAX_MESSAGES = 60;
const USERNAMES = 30;
const TAGS = ['baking', 'chess', 'C++', '東京', 'node.js'];
const WORDS = 'tea bread jazz river stone cloud harbour lantern'.split(' ');
const PASSWORDS = ['correct horse battery', 'staple of the north wind'];

/** Number of concurrent requests. It exceeds the number of accounts, so that an account has several. */
const CONCURRENCY = 40;

const ERASURE_TIMEOUT_MS = 60_000;

interface World {
  urls: string[];
  people: TestUser[];
  /** Spaces and messages that may have been deleted. */
  spaces: Item[];
  messages: Item[];
  /** Number of accounts registered in place of deleted ones. */
  replacements: number;
}

/** A space or message with its creator or author. */
interface Item {
  id: string;
  owner: TestUser;
}

type Result = { data?: unknown; response?: Response; error?: unknown };

/**
 * Sends a request of a random account, or of the owner of a random space or message. Undefined if there is none.
 * @param as returns the client of an account
 */
type Operation = (
  person: TestUser,
  world: World,
  as: (person: TestUser) => Client,
) => Promise<Result> | undefined;

/** The operations with their relative frequencies. */
const operations: Record<string, [number, Operation]> = {
  createSpace: [
    8,
    async (person, { spaces }, as) => {
      const result = await api.createSpace({ client: as(person), body: newSpace() });
      if (result.data) remember(spaces, { id: result.data.space_id, owner: person }, MAX_SPACES);
      return result;
    },
  ],
  updateSpace: [
    10,
    (_, { spaces }, as) =>
      withItem(spaces, ({ id: space_id, owner }) =>
        api.updateSpace({ client: as(owner), path: { space_id }, body: newSpace() }),
      ),
  ],
  deleteSpace: [
    3,
    (_, { spaces }, as) =>
      withItem(spaces, (space) => {
        forgetSometimes(spaces, space);
        return api.deleteSpace({ client: as(space.owner), path: { space_id: space.id } });
      }),
  ],
  renewInvitationCode: [
    2,
    (_, { spaces }, as) =>
      withItem(spaces, ({ id: space_id, owner }) =>
        api.renewInvitationCode({ client: as(owner), path: { space_id } }),
      ),
  ],
  joinSpace: [
    16,
    (person, { spaces }, as) =>
      withItem(spaces, ({ id: space_id }) =>
        api.joinSpace({ client: as(person), path: { space_id }, body: {} }),
      ),
  ],
  leaveSpace: [
    8,
    (person, { spaces }, as) =>
      withItem(spaces, ({ id: space_id }) =>
        api.leaveSpace({ client: as(person), path: { space_id } }),
      ),
  ],
  appointModerator: [
    3,
    ({ userId: user_id }, { spaces }, as) =>
      withItem(spaces, ({ id: space_id, owner }) =>
        api.appointModerator({ client: as(owner), path: { space_id, user_id } }),
      ),
  ],
  dismissModerator: [
    2,
    ({ userId: user_id }, { spaces }, as) =>
      withItem(spaces, ({ id: space_id, owner }) =>
        api.dismissModerator({ client: as(owner), path: { space_id, user_id } }),
      ),
  ],
  removeParticipant: [
    4,
    ({ userId: user_id }, { spaces }, as) =>
      withItem(spaces, ({ id: space_id, owner }) =>
        api.removeParticipant({ client: as(owner), path: { space_id, user_id } }),
      ),
  ],
  undoRemoval: [
    3,
    ({ userId: user_id }, { spaces }, as) =>
      withItem(spaces, ({ id: space_id, owner }) =>
        api.undoRemoval({ client: as(owner), path: { space_id, user_id } }),
      ),
  ],
  sendMessage: [
    16,
    (person, { spaces, messages }, as) =>
      withItem(spaces, async ({ id: space_id }) => {
        // Often in another space, where it cannot be answered.
        const original = Math.random() < 0.5 && messages.length > 0 ? draw(messages).id : null;
        const body = { space_id, text: drawMention(), reply_to: original };
        const result = await api.sendMessage({ client: as(person), body });
        const { message_id: id } = result.data ?? {};
        if (id !== undefined) remember(messages, { id, owner: person }, MAX_MESSAGES);
        return result;
      }),
  ],
  editMessage: [
    6,
    (_, { messages }, as) =>
      withItem(messages, (message) => {
        const path = { message_id: message.id };
        return api.editMessage({ client: as(message.owner), path, body: { text: drawMention() } });
      }),
  ],
  deleteMessage: [
    4,
    (_, { messages }, as) =>
      withItem(messages, (message) => {
        forgetSometimes(messages, message);
        return api.deleteMessage({ client: as(message.owner), path: { message_id: message.id } });
      }),
  ],
  appreciateMessage: [
    10,
    (person, { messages }, as) =>
      withItem(messages, ({ id: message_id }) =>
        api.appreciateMessage({ client: as(person), path: { message_id } }),
      ),
  ],
  withdrawAppreciation: [
    6,
    (person, { messages }, as) =>
      withItem(messages, ({ id: message_id }) =>
        api.withdrawAppreciation({ client: as(person), path: { message_id } }),
      ),
  ],
  reportMessage: [
    2,
    (person, { messages }, as) =>
      withItem(messages, ({ id: message_id }) => {
        const body = { reason: drawText(3) };
        return api.reportMessage({ client: as(person), path: { message_id }, body });
      }),
  ],
  changeUsername: [
    4,
    (person, _, as) => {
      const username = drawUsername();
      return api.changeUsername({ client: as(person), body: { username } });
    },
  ],
  changeBio: [
    4,
    (person, _, as) => api.changeBio({ client: as(person), body: { bio: drawText(10) } }),
  ],
  changeProfilePicture: [
    3,
    async (person, _, as) => {
      const body = { avatar: await avatarFile() };
      return api.changeProfilePicture({ client: as(person), body });
    },
  ],
  removeProfilePicture: [2, (person, _, as) => api.removeProfilePicture({ client: as(person) })],
  changePassword: [
    1,
    (person, _, as) => {
      const passwords = PASSWORDS.toSorted(() => Math.random() - 0.5);
      const [currentPassword = '', newPassword = ''] = passwords;
      return api.changePassword({ client: as(person), body: { currentPassword, newPassword } });
    },
  ],
  deleteAccount: [
    1,
    async (person, world, as) => {
      const result = await api.deleteAccount({ client: as(person) });
      if (!result.response?.ok) return result;
      for (const space of world.spaces.filter(({ owner }) => owner === person)) {
        forgetSometimes(world.spaces, space);
      }
      world.replacements += 1;
      const replacement = await register(draw(world.urls), `later-${world.replacements}`);
      world.people[world.people.indexOf(person)] = replacement;
      return result;
    },
  ],
  listSpaces: [
    5,
    (person) =>
      api.listSpaces({ client: person.client, query: { sort: draw(['popular', 'newest']) } }),
  ],
  searchSpaces: [
    20,
    (person, _, as) => api.searchSpaces({ client: as(person), query: { q: draw(WORDS) } }),
  ],
  searchSpacesByTag: [
    5,
    (person, _, as) => api.searchSpacesByTag({ client: as(person), path: { tag: draw(TAGS) } }),
  ],
};

const shares = Object.fromEntries(
  Object.entries(operations).map(([name, [share]]) => [name, share]),
);

export const concurrency: Trial = {
  promise:
    'Two processes execute concurrent operations on the same few rows as if one ran after the other.',
  runsOnPostgresql: true,
  async run(scale) {
    const count = scale === 'full' ? 20_000 : 2_000;
    const dataDir = await mkdtemp(join(tmpdir(), 'space-service-concurrency-'));
    await using database = await createTestDatabase();
    try {
      await using servers = await startServers({ ...database.settings, DATA_DIR: dataDir });
      const [{ location }] = servers.started;
      const urls = servers.started.map(({ url }) => url);
      const people = await registerAll(ACCOUNTS, (i) => register(urls[0] as string, `person-${i}`));
      const world: World = { urls, people, spaces: [], messages: [], replacements: 0 };

      const successes = new Map<string, number>();
      let sent = 0;
      let rejected = 0;
      const startedAt = performance.now();
      const sendOperations = async () => {
        while (sent < count) {
          const name = drawName(shares);
          const as = ({ token }: TestUser) => clientOf(draw(urls), token);
          const result = await operations[name]?.[1](draw(people), world, as);
          if (!result) continue;
          sent += 1;
          const { status, headers } = result.response ?? {};
          const context = `${name} returned ${status}: ${JSON.stringify(result.error)}`;
          const isUnavailable = status === 503 && Number(headers?.get('retry-after')) > 0;
          assert(status !== undefined && (status < 500 || isUnavailable), context);
          if (isUnavailable) rejected += 1;
          if (result.response?.ok) successes.set(name, (successes.get(name) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, sendOperations));
      const seconds = (performance.now() - startedAt) / 1000;

      const unsuccessful = Object.keys(operations).filter((name) => !successes.has(name));
      // The quick scale may not include every operation.
      if (scale === 'full') assert.deepEqual(unsuccessful, [], 'these never succeeded');
      await using engine = await openDatabase(location, { purpose: 'command' });
      await waitForErasure(engine);
      await assertSound(location);
      await assertRebuildMatches(location);
      const logs = servers.started.map((server) => server.output()).join('\n');
      // The log contains only the first of these failures, and the last one of each minute.
      const failures = logs.matchAll(/"code":"(\w+)".*"msg":"the database (?:is|was) unavailable/g);
      const causes = [...new Set(Array.from(failures, ([, code]) => code))].join(', ');
      return `${sent} operations of ${ACCOUNTS} accounts, ${CONCURRENCY} at a time, ${Math.round(sent / seconds)} per second; ${rejected} got 503 (errors of the database: ${causes || 'none'}), no other 5xx; ${await describeTransactions(engine)}; rows, counters, avatars and index are consistent`;
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  },
};

interface Servers extends AsyncDisposable {
  started: [Server, ...Server[]];
}

/** Starts two processes on one database. Only the workers of one server can share a SQLite file. */
async function startServers(settings: Record<string, string>): Promise<Servers> {
  await using stack = new AsyncDisposableStack();
  const first = stack.use(
    await startServer(isPostgresql ? settings : { ...settings, WORKERS: '2' }),
  );
  const others = isPostgresql ? [stack.use(await startServer(settings))] : [];
  const resources = stack.move();
  return {
    started: [first, ...others],
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Waits until maintenance has erased the rows of deleted spaces and accounts. */
async function waitForErasure({ db }: Engine): Promise<void> {
  for (const table of ['erased_spaces', 'erased_users', 'spaces_to_move'] as const) {
    const rows = db.selectFrom(table).selectAll();
    const isEmpty = async () => (await rows.executeTakeFirst()) === undefined;
    await waitUntil(`${table} is empty`, isEmpty, ERASURE_TIMEOUT_MS);
  }
}

/** Returns the numbers of committed and rolled back transactions as text. */
async function describeTransactions({ db }: Engine): Promise<string> {
  if (!isPostgresql) return 'one writer at a time';
  const { rows } = await sql<{ commits: number; rollbacks: number; deadlocks: number }>`
    SELECT xact_commit AS commits, xact_rollback AS rollbacks, deadlocks
    FROM pg_stat_database WHERE datname = current_database()`.execute(db);
  const [{ commits, rollbacks, deadlocks }] = rows as [(typeof rows)[0]];
  return `${commits} transactions committed and ${rollbacks} rolled back, ${deadlocks} deadlocks`;
}

function newSpace() {
  return {
    title: drawText(2),
    description: drawText(6),
    visibility: Math.random() < 0.85 ? ('public' as const) : ('private' as const),
    tags: TAGS.filter(() => Math.random() < 0.4),
  };
}

function withItem(
  items: readonly Item[],
  send: (item: Item) => Promise<Result>,
): Promise<Result> | undefined {
  return items.length === 0 ? undefined : send(draw(items));
}

/** Removes an item in half of all cases, so that some later requests are for a deleted item. */
function forgetSometimes(items: Item[], item: Item): void {
  if (Math.random() < 0.5) items.splice(items.indexOf(item), 1);
}

function drawUsername(): string {
  return `name-${Math.floor(Math.random() * USERNAMES)}`;
}

/** Returns a text that mentions a name, which an account may have. */
function drawMention(): string {
  return `${drawText(5)} @${drawUsername()}`;
}

function drawText(words: number): string {
  return Array.from({ length: words }, () => draw(WORDS)).join(' ');
}
