import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Client } from '../../../generated/client/index.ts';
import * as api from '../../../generated/sdk.gen.ts';
import type { Message, Participation } from '../../../generated/types.gen.ts';
import { startApp } from '../../support/app.ts';
import { clientOf, register } from '../../support/client.ts';
import { runProgram } from '../../support/commands.ts';
import { assertConsistent } from '../../support/consistency.ts';
import { EX_TEMPFAIL } from '../../support/exit-codes.ts';
import { readPages } from '../../support/pages.ts';
import { freePort } from '../../support/ports.ts';
import { PASSWORD, USER } from '../../support/postgresql.ts';
import { startPostgresqlCluster } from '../../support/postgresql-cluster.ts';
import { type Server, startServer } from '../../support/server.ts';
import { createSpace, spaceCreation } from '../../support/spaces.ts';
import { startSwitchingProxy } from '../../support/switching-proxy.ts';

test('While DATABASE_URL points to a standby, writes and searches get 503 and other reads work, until it is promoted', async () => {
  await using proxy = await startSwitchingProxy();
  await using cluster = await startPostgresqlCluster();
  const { primaryUrl, standbyUrl } = await cluster.createDatabase('standby');
  proxy.switchTo(cluster.primary.port);
  await using app = await startApp({ DATABASE_URL: proxy.urlOf(primaryUrl), RATE_LIMITS: 'on' });
  const user = await app.register();
  const { client } = user;
  const space = await createSpace(user, { title: 'Mountains' });
  await cluster.catchUp();

  proxy.switchTo(cluster.standby.port);
  const ready = await app.fetch('/readyz');
  expect(await ready.json()).toMatchObject({
    status: 503,
    code: 'unavailable',
    detail: expect.stringContaining('is a standby'),
  });
  const settings = {
    DATABASE_URL: standbyUrl,
    PORT: String(await freePort()),
    LOG_LEVEL: 'silent',
  };
  expect(await runProgram('start', [], settings)).toEqual({
    code: EX_TEMPFAIL,
    stdout: '',
    stderr:
      'The database of DATABASE_URL is a standby. Promote it, or set DATABASE_URL to the primary.\n',
  });
  expect((await app.fetch('/healthz')).status).toBe(200);
  const search = () => api.searchSpaces({ client, query: { q: 'mountains' } });
  const path = { space_id: space.space_id };
  expect((await api.getSpace({ client, path })).data).toMatchObject(path);
  const rejected = [
    search,
    () => api.listTags({ client }),
    () => api.listSpaces({ client, query: { sort: 'newest' } }),
    () => api.changeBio({ client, body: { bio: 'Later' } }),
    () => api.sendMessage({ client, body: { space_id: space.space_id, text: 'Hello' } }),
    () => api.login({ client, body: { email: user.email, password: user.password } }),
    () => api.deleteAccount({ client }),
  ];
  for (const request of rejected) {
    expect((await request()).error).toMatchObject({ status: 503, code: 'unavailable' });
  }
  const { engine, rateLimits } = app.context;
  const failure = await rateLimits.deleteExpired().catch((error: unknown) => error);
  expect(engine.isUnavailable(failure)).toBe(true);

  await cluster.primary.stop();
  await cluster.standby.promote();
  await expect.poll(async () => (await app.fetch('/readyz')).status).toBe(200);
  // Until the search index has been compared with the database.
  await expect.poll(async () => (await search()).data).toMatchObject([path]);
  const statuses: (number | undefined)[] = [];
  for (const request of rejected) statuses.push((await request()).response?.status);
  expect(statuses).toEqual([200, 200, 200, 200, 201, 200, 200]);
});

describe('If the primary is killed under load and the standby is promoted,', () => {
  test('synchronous replication loses no acknowledged write, and clients get only 503 until the service recovers', async () => {
    await using proxy = await startSwitchingProxy();
    await using cluster = await startPostgresqlCluster({ synchronousCommit: 'on' });
    const { primaryUrl, standbyUrl } = await cluster.createDatabase('synchronous');
    proxy.switchTo(cluster.primary.port);
    const settings = { DATABASE_URL: proxy.urlOf(primaryUrl) };
    await using first = await startServer(settings);
    await using second = await startServer(settings);
    const servers = [first, second];
    const writers = await Promise.all([0, 1, 2, 3, 4, 5].map((i) => startWriter(servers, i)));
    await sleep(2_000);

    await cluster.primary.kill();
    await sleep(1_000);
    for (const { url } of servers) {
      expect((await fetch(`${url}/readyz`)).status).toBe(503);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    }
    proxy.switchTo(null);
    await cluster.standby.promote();
    proxy.switchTo(cluster.standby.port);
    const promotedAt = performance.now();
    for (const { url } of servers) {
      const readStatus = async () => (await fetch(`${url}/readyz`)).status;
      await expect.poll(readStatus).toBe(200);
    }
    await expect
      .poll(() => writers.every(({ acknowledgedAt }) => acknowledgedAt() > promotedAt))
      .toBe(true);
    await sleep(1_000);
    const histories = await Promise.all(writers.map((writer) => writer.stop()));

    expect(histories.flatMap(({ unexpected }) => unexpected)).toEqual([]);
    for (const { counts } of histories) expect(counts.unavailable).toBeGreaterThan(0);
    for (const history of histories) {
      expect(await findLost(first, history)).toEqual([]);
      await assertWhole(second, history);
    }
    await using machine = await startApp({ DATABASE_URL: standbyUrl });
    await assertConsistent(machine.context.engine);
    for (const { child, output } of servers) {
      expect(child.exitCode).toBeNull();
      expect(output()).not.toContain('"level":50');
    }
  });

  test('asynchronous replication loses acknowledged writes that the standby had not received', async () => {
    await using replication = await startSwitchingProxy();
    await using proxy = await startSwitchingProxy();
    const address = `host=127.0.0.1 port=${replication.port} user=${USER} password=${PASSWORD}`;
    await using cluster = await startPostgresqlCluster({
      standbySettings: [`primary_conninfo=${address}`],
    });
    replication.switchTo(cluster.primary.port);
    const { primaryUrl } = await cluster.createDatabase('asynchronous');
    proxy.switchTo(cluster.primary.port);
    await using server = await startServer({ DATABASE_URL: proxy.urlOf(primaryUrl) });
    const writer = await startWriter([server], 0);
    await sleep(500);
    replication.switchTo(null);
    const separatedAt = performance.now();
    await expect.poll(writer.acknowledgedAt).toBeGreaterThan(separatedAt + 500);
    await cluster.primary.kill();
    await cluster.standby.promote();
    proxy.switchTo(cluster.standby.port);
    const history = await writer.stop();
    expect(history.unexpected).toEqual([]);
    expect((await findLost(server, history)).length).toBeGreaterThan(0);
  });
});

/** The writes of a writer by their outcome. Titles identify spaces, and texts identify messages. All are unique. */
interface History {
  token: string;
  /** The space of all messages. */
  spaceId: string;
  /** Creations and messages that were acknowledged, and not deleted. */
  kept: Set<string>;
  /** Messages whose deletion was acknowledged. */
  deleted: Set<string>;
  /** Writes without acknowledgement, which may have happened or not. */
  unknown: Set<string>;
  counts: { unavailable: number };
  /** Responses other than success and a correct 503, and searches that do not find an acknowledged space. */
  unexpected: string[];
}

interface Writer {
  /** When the creation of a space was last acknowledged, in the time of `performance.now`. */
  acknowledgedAt(): number;
  /** Finishes the current request. */
  stop(): Promise<History>;
}

/** Registers a user who creates and searches for spaces, sends messages and deletes some, on each server in turn. */
async function startWriter(servers: readonly Server[], number: number): Promise<Writer> {
  const [first] = servers as [Server];
  const { token, client } = await register(first.url, `writer${number}`);
  const clients = servers.map(({ url }) => clientOf(url, token));
  const { space_id: spaceId } = await createSpace({ client });
  const history: History = {
    token,
    spaceId,
    kept: new Set(),
    deleted: new Set(),
    unknown: new Set(),
    counts: { unavailable: 0 },
    unexpected: [],
  };
  let lastAcknowledgement = 0;
  let isStopping = false;

  /** Returns whether the request succeeded. Records any response that the service must not send during an outage. */
  const succeeds = async (name: string, { error, response }: Result): Promise<boolean> => {
    if (response?.ok) return true;
    const isUnavailable =
      response?.status === 503 &&
      response.headers.get('content-type') === 'application/problem+json' &&
      Number(response.headers.get('retry-after')) >= 1 &&
      (error as { code?: string }).code === 'unavailable';
    if (isUnavailable) history.counts.unavailable += 1;
    else history.unexpected.push(`${name}: ${response?.status} ${JSON.stringify(error)}`);
    await sleep(50);
    return false;
  };

  const step = async (client: Client, i: number) => {
    const title = `title${number}x${i}`;
    const body = spaceCreation({ title, tags: [`tag${title}`] });
    if (await succeeds('create', await api.createSpace({ client, body }))) {
      lastAcknowledgement = performance.now();
      history.kept.add(title);
      const search = await api.searchSpaces({ client, query: { q: title } });
      if ((await succeeds('search', search)) && search.data?.[0]?.title !== title) {
        history.unexpected.push(`The search for ${title} found ${JSON.stringify(search.data)}`);
      }
    } else {
      history.unknown.add(title);
    }
    const text = `message ${number} ${i}`;
    const message = await api.sendMessage({ client, body: { space_id: spaceId, text } });
    if (!(await succeeds('send', message))) {
      history.unknown.add(text);
      return;
    }
    history.kept.add(text);
    if (i % 3 > 0) return;
    history.kept.delete(text);
    const path = { message_id: (message.data as { message_id: string }).message_id };
    if (await succeeds('delete', await api.deleteMessage({ client, path }))) {
      history.deleted.add(text);
    } else {
      history.unknown.add(text);
    }
  };
  const work = (async () => {
    for (let i = 0; !isStopping; i += 1) await step(clients[i % clients.length] as Client, i);
  })();
  return {
    acknowledgedAt: () => lastAcknowledgement,
    async stop() {
      isStopping = true;
      await work;
      return history;
    },
  };
}

type Result = { error?: unknown; response?: Response };

/** Returns the acknowledged writes that the service does not have any more, and deleted messages that are back. */
async function findLost(server: Server, history: History): Promise<string[]> {
  const stored = await readStored(server, history);
  const lost = [...history.kept].filter((each) => !stored.has(each));
  return [...lost, ...[...history.deleted].filter((each) => stored.has(each))];
}

/**
 * Checks that nothing is stored that was not written, and that each space without acknowledgement is either found
 * through its list, a search and its tag, or through none of them.
 */
async function assertWhole(server: Server, history: History): Promise<void> {
  const stored = await readStored(server, history);
  const { kept, unknown } = history;
  expect([...stored].filter((each) => !kept.has(each) && !unknown.has(each))).toEqual([]);
  const client = clientOf(server.url);
  for (const title of unknown) {
    if (!title.startsWith('title')) continue;
    const expected = stored.has(title) ? [{ title, participant_count: 1 }] : [];
    const query = { q: title, as_typed: true };
    expect((await api.searchSpaces({ client, query })).data).toMatchObject(expected);
    const path = { tag: `tag${title}` };
    expect((await api.searchSpacesByTag({ client, path })).data).toMatchObject(expected);
  }
}

/** Reads the titles of the writer's spaces and the texts of its messages. Each may occur only once. */
async function readStored({ url }: Server, { token, spaceId }: History): Promise<Set<string>> {
  const app = { fetch: (path: string, init?: RequestInit) => fetch(url + path, init) };
  const init = { headers: { authorization: `Bearer ${token}` } };
  const spaces = await readPages<Participation>(app, '/api/participations?limit=100', init);
  const path = `/api/messages?space_id=${spaceId}&limit=100`;
  const messages = await readPages<Message>(app, path, init);
  // The space of the messages has the default title "Tea".
  const all = [
    ...spaces.flat().map(({ space }) => space.title),
    ...messages.flat().map(({ text }) => text),
  ].filter((each) => each !== 'Tea');
  const stored = new Set(all);
  expect(all.length).toBe(stored.size);
  return stored;
}
