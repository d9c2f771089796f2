import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { followMessages, type Message, pages } from '../../../client/index.ts';
import { createClient, createConfig } from '../../../generated/client/index.ts';
import * as api from '../../../generated/sdk.gen.ts';
import { register, type TestUser } from '../../support/client.ts';
import { createTestDatabase, isPostgresql } from '../../support/databases.ts';
import { draw } from '../../support/drawing.ts';
import { preload } from '../../support/processes.ts';
import { retryWhileUnavailable } from '../../support/retry.ts';
import { type Server, startServer } from '../../support/server.ts';
import { createSpace, joinSpace } from '../../support/spaces.ts';
import type { Trial } from './trial.ts';

const WRITERS = 8;
const READERS = 20;

/** The shares of messages that their authors delete or edit at once. */
const DELETED_SHARE = 0.3;
const EDITED_SHARE = 0.2;

/** The clocks of the machines differ from the real time by up to this. */
const MAX_CLOCK_ERROR_MS = 10_000;

const MAX_CATCH_UP_MS = 120_000;

export const following: Trial = {
  promise:
    'Readers who follow a space get every message once, in the order of the list, and every edit and deletion, while servers with different clocks are killed.',
  runsOnPostgresql: true,
  async run(scale) {
    const [messages, kills] = scale === 'full' ? [10_000, 20] : [400, 2];
    const dataDir = await mkdtemp(join(tmpdir(), 'space-service-following-'));
    await using database = await createTestDatabase();
    const settings = { ...database.settings, DATA_DIR: dataDir, WORKERS: '2' };
    const start = () =>
      startServer({
        ...settings,
        ...clockError((Math.random() * 2 - 1) * MAX_CLOCK_ERROR_MS),
      });
    // Machines cannot share a SQLite file.
    const servers: Server[] = [await start(), ...(isPostgresql ? [await start()] : [])];
    try {
      const { url } = servers[0] as Server;
      const users: TestUser[] = [];
      for (let i = 0; i < WRITERS; i += 1) users.push(await register(url, `writer${i}`));
      const [creator, ...others] = users as [TestUser, ...TestUser[]];
      const { space_id } = await createSpace(creator);
      for (const user of others) await joinSpace(user, { space_id });
      const query = { space_id };
      const first = await api.listMessages({ client: creator.client, query, throwOnError: true });
      const { newer_cursor: after } = first.data;

      // Sends each request to any of the servers that run at the moment.
      const anyServer = (token?: string) =>
        createClient(
          createConfig({
            baseUrl: 'http://service',
            ...(token && { auth: token }),
            fetch: (input) =>
              retryWhileUnavailable(() => {
                const request = (input as Request).clone();
                const { url } = draw(servers);
                return fetch(new Request(request.url.replace('http://service', url), request));
              }),
          }),
        );

      const stopping = new AbortController();
      const seen = Array.from({ length: READERS }, (): string[] => []);
      const texts = seen.map(() => new Map<string, string>());
      const readers = seen.map(async (ids, i) => {
        const client = anyServer(i % 2 ? creator.token : undefined);
        const updates = followMessages({ space_id, after, client, signal: stopping.signal });
        for await (const { items, changed_items, deleted_message_ids } of updates) {
          ids.push(...items.map((item) => item.message_id));
          for (const { message_id, text } of [...items, ...changed_items])
            texts[i]?.set(message_id, text);
          for (const id of deleted_message_ids)
            if (ids.includes(id)) ids.splice(ids.indexOf(id), 1);
        }
      });
      const reading = Promise.allSettled(readers);

      const acknowledged: string[] = [];
      const deleted = new Set<string>();
      let attempts = 0;
      const writing = users.map(async ({ token }) => {
        const client = anyServer(token);
        while (acknowledged.length < messages) {
          attempts += 1;
          const body = { space_id, text: `No. ${attempts}` };
          const { data } = await api
            .sendMessage({ client, body })
            .catch(() => ({ data: undefined }));
          if (!data) {
            await sleep(100);
            continue;
          }
          acknowledged.push(data.message_id);
          if (Math.random() < EDITED_SHARE) {
            // Otherwise, it may be edited or not.
            const edit = { text: `No. ${attempts}, edited` };
            await api.editMessage({ client, path: data, body: edit }).catch(() => {});
          }
          if (Math.random() > DELETED_SHARE) continue;
          deleted.add(data.message_id);
          // Otherwise, it may be deleted or not.
          await api.deleteMessage({ client, path: data }).catch(() => {});
        }
      });
      for (let i = 1; i <= kills; i += 1) {
        while (acknowledged.length < (messages * i) / (kills + 1)) await sleep(50);
        const index = i % servers.length;
        await servers[index]?.kill();
        servers[index] = await start();
      }
      await Promise.all(writing);
      const writtenAt = performance.now();

      const listed: Message[] = [];
      const client = anyServer();
      const list = pages<Message>((cursor) =>
        api.listMessages({ client, query: { space_id, limit: 100, cursor } }),
      );
      for await (const page of list) listed.push(...page);
      const expected = listed.map(({ message_id }) => message_id).reverse();
      const deadline = performance.now() + MAX_CATCH_UP_MS;
      const listedTexts = listed.map(({ text }) => text).reverse();
      const textsOf = (ids: readonly string[], i: number) => ids.map((id) => texts[i]?.get(id));
      const isBehind = (ids: readonly string[], i: number) =>
        ids.join() !== expected.join() || textsOf(ids, i).join() !== listedTexts.join();
      while (seen.some(isBehind) && performance.now() < deadline) {
        await sleep(100);
      }
      const catchUpMs = Math.round(performance.now() - writtenAt);
      stopping.abort();
      await reading;
      for (const [i, ids] of seen.entries()) {
        assert.deepEqual(ids, expected);
        assert.deepEqual(textsOf(ids, i), listedTexts);
      }
      const stored = new Set(expected);
      assert(acknowledged.every((id) => stored.has(id) || deleted.has(id)));
      for (const id of acknowledged) stored.delete(id);
      return `${kills} kills; ${WRITERS} writers sent ${acknowledged.length} messages, and ${stored.size} without a response, and deleted ${deleted.size}; each of ${READERS} readers got all of them once, as they were edited last, the last one within ${catchUpMs} ms`;
    } finally {
      for (const server of servers) await server[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true });
    }
  },
};

/** Returns settings of a server whose clock has an error. */
function clockError(milliseconds: number): Record<string, string> {
  return preload(`const now = Date.now; Date.now = () => now() + ${Math.round(milliseconds)};`);
}
