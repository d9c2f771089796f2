import { createHash } from 'node:crypto';
import { eraseDeletedRows } from '../../server/account-lifecycle/erasure.ts';
import { importRecords } from '../../server/import-export/import.ts';
import type { DataRecord } from '../../server/import-export/records.ts';
import { refreshDictionary } from '../../server/search/dictionary/dictionary.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { toLines } from '../support/ndjson.ts';
import { waitUntil } from '../support/wait-until.ts';

/** The same service with the same data on both kinds of database. */
export interface Services extends AsyncDisposable {
  sqlite: TestApp;
  postgresql: TestApp;
}

/** The same for both services, because otherwise the URLs of avatars would contain their ports. */
const SETTINGS = { PUBLIC_URL: 'https://spaces.example' };

/**
 * Starts both services, and imports the records into both.
 * @param postgresqlSettings environment variables of the service on PostgreSQL; by default, it uses the server of
 *   `npm run test:postgresql`
 */
export async function startServices(
  records: readonly DataRecord[],
  postgresqlSettings: Record<string, string> = {},
): Promise<Services> {
  await using started = new AsyncDisposableStack();
  const sqlite = started.use(await startApp({ ...SETTINGS, DATABASE_URL: '' }));
  const postgresql = started.use(await startApp({ ...SETTINGS, ...postgresqlSettings }));
  if (!postgresql.context.config.databaseUrl) throw new Error('This test needs PostgreSQL.');
  for (const { context } of [sqlite, postgresql]) {
    await importRecords(context.engine, toLines(records));
  }
  await refreshDictionaries({ sqlite, postgresql });
  const owned = started.move();
  return { sqlite, postgresql, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/**
 * Builds both dictionaries from the current spaces. Does not wait for maintenance, which can pause for more than a
 * minute after a refresh on a busy machine.
 */
async function refreshDictionaries({
  sqlite,
  postgresql,
}: Pick<Services, 'sqlite' | 'postgresql'>): Promise<void> {
  for (const { context } of [sqlite, postgresql]) {
    const { engine } = context;
    const isRefreshed = async () =>
      (await engine.searchIndex.update().then(() => true)) &&
      (await eraseDeletedRows(engine)) &&
      (await refreshDictionary(engine.searchIndex.engine));
    await waitUntil('the dictionary is current', isRefreshed);
  }
}

/**
 * Opens sessions with the same ids, times and tokens on both services, half as many again for programs. Returns the token of
 * the last one of a person.
 */
export async function openSessions(
  { sqlite, postgresql }: Services,
  userId: string,
  { count, time }: { count: number; time: Date },
): Promise<string> {
  const tokenOf = (i: number) =>
    `sps_${createHash('sha256').update(`${userId} ${i}`).digest('base64url')}`;
  for (const { context } of [sqlite, postgresql]) {
    const { db } = context.engine;
    const { pk } = await db
      .selectFrom('users')
      .select('pk')
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow();
    for (let i = 0; i < count * 1.5; i += 1) {
      const session = {
        session_id: `session-${i}-of-${userId}`,
        token_hash: createHash('sha256').update(tokenOf(i)).digest('hex'),
        user_pk: pk,
        created_at: time.toISOString(),
        last_used_at: time.toISOString(),
        ...(i >= count && { token_name: `Bot ${i}`, scopes: 'read write' }),
      };
      await db.insertInto('sessions').values(session).execute();
    }
  }
  return tokenOf(count - 1);
}

/** Adds reports of messages by a user, with the same ids and times, to both services. */
export async function addReports(
  { sqlite, postgresql }: Services,
  reporterId: string,
  messageIds: readonly string[],
  time: Date,
): Promise<void> {
  for (const { context } of [sqlite, postgresql]) {
    const { db } = context.engine;
    const { pk: reporter_pk } = await db
      .selectFrom('users')
      .select('pk')
      .where('user_id', '=', reporterId)
      .executeTakeFirstOrThrow();
    for (const messageId of messageIds) {
      const { pk: message_pk, space_pk } = await db
        .selectFrom('messages')
        .select(['pk', 'space_pk'])
        .where('message_id', '=', messageId)
        .executeTakeFirstOrThrow();
      const keys = { report_id: `report-of-${messageId}`, reporter_pk, space_pk, message_pk };
      const created_at = time.toISOString();
      await db
        .insertInto('reports')
        .values({ ...keys, reason: 'Spam', created_at })
        .execute();
    }
  }
}
