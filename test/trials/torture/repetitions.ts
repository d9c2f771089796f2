import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Client } from '../../../generated/client/index.ts';
import * as api from '../../../generated/sdk.gen.ts';
import type { Message } from '../../../generated/types.gen.ts';
import type { Location } from '../../../server/database/kind.ts';
import { openDatabase } from '../../../server/database/open.ts';
import { clientOf, register, type TestUser } from '../../support/client.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { drawName } from '../../support/drawing.ts';
import { startServer } from '../../support/server.ts';
import { createSpace, joinSpace, spaceCreation } from '../../support/spaces.ts';
import { startSwitchingProxy } from '../../support/switching-proxy.ts';
import { registerAll } from './people.ts';
import { assertSound } from './soundness.ts';
import { drawWhere } from './traffic-state.ts';
import type { Trial } from './trial.ts';

const SENDERS = 8;

/** Longer than most requests take, so that they are cut off before, during and after the work of the server. */
const MAX_MS_UNTIL_CUT = 25;

const shares = { sendMessage: 5, createSpace: 3, joinSpace: 1, appreciateMessage: 1 };

/** A write with an effect that no other one has. */
interface Write {
  /** As `countEffects` returns it. */
  effect: string;
  send(signal: AbortSignal | null): Promise<{
    data?: object | undefined;
    error?: unknown;
    response?: Response;
  }>;
}

export const repetitions: Trial = {
  promise:
    'Requests that are cut off and repeated, creations with an Idempotency-Key, take effect exactly once.',
  runsOnPostgresql: true,
  async run(scale) {
    const [count, kills] = scale === 'full' ? [1_000, 40] : [100, 2];
    const dataDir = await mkdtemp(join(tmpdir(), 'space-service-repetitions-'));
    await using database = await createTestDatabase();
    await using proxy = await startSwitchingProxy();
    const settings = { ...database.settings, DATA_DIR: dataDir, WORKERS: '2' };
    const effects = new Set<string>();
    const counts = { begun: 0, repeated: 0, hadEffect: 0 };
    let server = await startServer(settings);
    try {
      proxy.switchTo(server.port);
      const url = `http://127.0.0.1:${proxy.port}`;
      const users = await registerAll(SENDERS, (i) => register(url, `person-${i}`));
      const createWrite = await prepareWrites(users);

      const sendWrites = async ({ token, userId }: TestUser) => {
        const client = clientOf(url, token);
        while (counts.begun < count) {
          const write = createWrite(client, userId);
          if (!write || effects.has(write.effect)) continue;
          effects.add(write.effect);
          counts.begun += 1;
          await repeatUntilSuccess(write);
        }
      };
      const repeatUntilSuccess = async ({ send }: Write) => {
        for (let attempt = 1; ; attempt += 1) {
          const isCut = Math.random() < (attempt === 1 ? 0.8 : 0.3);
          const signal = isCut ? AbortSignal.timeout(randomInt(MAX_MS_UNTIL_CUT)) : null;
          const startedAt = new Date().toISOString();
          const { data, error, response } = await send(signal);
          if (data) {
            const { created_at = startedAt } = data as { created_at?: string };
            if (created_at < startedAt && attempt > 1) counts.hadEffect += 1;
            return;
          }
          const isBroken = response === undefined || response.ok;
          const { code = '' } = Object(error) as { code?: string };
          assert(
            isBroken || ['unavailable', 'idempotency_key_in_use'].includes(code),
            `a request returned ${response?.status}: ${JSON.stringify(error)}`,
          );
          counts.repeated += 1;
          await sleep(Math.random() * 50);
        }
      };

      const sent = Promise.all(users.map(sendWrites));
      for (let kill = 1; kill <= kills; kill += 1) {
        while (counts.begun < (count * kill) / (kills + 1)) await Promise.race([sent, sleep(1)]);
        await sleep(Math.random() * 20);
        await server.kill();
        proxy.switchTo(null);
        server = await startServer(settings);
        proxy.switchTo(server.port);
      }
      await sent;
      await server.stop();

      const stored = await countEffects(server.location);
      for (const effect of effects) assert.equal(stored.get(effect), 1, effect);
      await assertSound(server.location);
      return `${effects.size} writes of ${SENDERS} users, repeated ${counts.repeated} times, with ${kills} kills of the server: each took effect once, ${counts.hadEffect} creations before their last repetition`;
    } finally {
      await server[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true, force: true });
    }
  },
};

/** Creates a space for all messages. Returns a function that creates a random write; undefined if it has no target. */
async function prepareWrites(users: readonly TestUser[]) {
  const { space_id } = await createSpace(users[0] as TestUser);
  for (const user of users.slice(1)) await joinSpace(user, { space_id });
  const spaces: string[] = [];
  const messages: Message[] = [];

  const writes: Record<keyof typeof shares, (client: Client, userId: string) => Write | undefined> =
    {
      createSpace(client) {
        const body = spaceCreation({ title: randomUUID() });
        const headers = { 'Idempotency-Key': randomUUID() };
        return {
          effect: `space ${body.title}`,
          async send(signal) {
            const result = await api.createSpace({ client, headers, signal, body });
            if (result.data) spaces.push(result.data.space_id);
            return result;
          },
        };
      },
      sendMessage(client) {
        const body = { space_id, text: randomUUID() };
        const headers = { 'Idempotency-Key': randomUUID() };
        return {
          effect: `message ${body.text}`,
          async send(signal) {
            const result = await api.sendMessage({ client, headers, signal, body });
            if (result.data) messages.push(result.data);
            return result;
          },
        };
      },
      joinSpace(client, userId) {
        const joined = drawWhere(spaces, () => true);
        if (joined === undefined) return undefined;
        const path = { space_id: joined };
        return {
          effect: `participation ${joined} ${userId}`,
          send: (signal) => api.joinSpace({ client, signal, path }),
        };
      },
      appreciateMessage(client, userId) {
        const message = drawWhere(messages, ({ author }) => author.user_id !== userId);
        if (message === undefined) return undefined;
        const { message_id } = message;
        return {
          effect: `appreciation ${message_id} ${userId}`,
          send: (signal) => api.appreciateMessage({ client, signal, path: { message_id } }),
        };
      },
    };
  return (client: Client, userId: string) => writes[drawName(shares)](client, userId);
}

/** Returns how often each effect is stored. */
async function countEffects(location: Location): Promise<Map<string, number>> {
  await using engine = await openDatabase(location, { purpose: 'command' });
  const { rows } = await sql<{ effect: string; count: number }>`
    SELECT effect, COUNT(*) AS count FROM (
      SELECT 'space ' || title AS effect FROM spaces
      UNION ALL SELECT 'message ' || text FROM messages
      UNION ALL SELECT 'participation ' || space_id || ' ' || user_id FROM participations
        JOIN spaces ON spaces.pk = space_pk JOIN users ON users.pk = user_pk
      UNION ALL SELECT 'appreciation ' || message_id || ' ' || user_id FROM appreciations
        JOIN messages ON messages.pk = message_pk JOIN users ON users.pk = user_pk
    ) AS effects GROUP BY effect`.execute(engine.db);
  return new Map(rows.map(({ effect, count }) => [effect, count]));
}
