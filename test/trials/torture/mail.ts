import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as api from '../../../generated/sdk.gen.ts';
import type { Database } from '../../../server/database/engine.ts';
import { openDatabase } from '../../../server/database/open.ts';
import { clientOf, retryingClientOf } from '../../support/client.ts';
import { createTestDatabase, isPostgresql } from '../../support/databases.ts';
import { draw, remember } from '../../support/drawing.ts';
import { type MailServer, type ReceivedMail, startMailServer } from '../../support/mail-server.ts';
import { type Server, startServer } from '../../support/server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { Trial } from './trial.ts';

const WRITERS = 6;

/** As long as the rest of an attempt, so that many kills strike between the acceptance of a mail and its deletion. */
const ANSWER_DELAY_MS = 20;

/** Maximum time that the writers run before a kill. Senders begin 250 ms after the first request. */
const MAX_WRITING_MS = 2000;

/** Two workers, or on PostgreSQL two servers. Each sends one mail at a time. */
const SENDERS = 2;

/** Only the newest accounts ask for resets, so that a request often replaces mail that waits or is being sent. */
const MAX_RESETTING = 20;

export const mail: Trial = {
  promise:
    'Despite kill -9 of all processes, each mail is sent at least once, and more than once only if a kill has struck its sender.',
  runsOnPostgresql: true,
  async run(scale) {
    const kills = scale === 'full' ? 100 : 4;
    const dataDir = await mkdtemp(join(tmpdir(), 'space-service-mail-'));
    await using mailServer = await startMailServer({}, ANSWER_DELAY_MS);
    await using database = await createTestDatabase();
    const settings = { ...database.settings, ...mailServer.settings, DATA_DIR: dataDir };
    const traffic = openTraffic(mailServer);
    const kept = observeKeptMails(mailServer);
    try {
      for (let i = 0; i < kills; i += 1) {
        await using cleanup = new AsyncDisposableStack();
        const servers = await startServers(settings, cleanup);
        // Half of the kills strike senders at work.
        await killUnderLoad(servers, traffic, i % 2 === 0 ? undefined : mailServer);
        await using engine = await openDatabase(servers[0].location, { purpose: 'command' });
        await kept.record(engine.db);
        await makeDue(engine.db);
      }
      await using cleanup = new AsyncDisposableStack();
      const [{ url, location }] = await startServers(settings, cleanup);
      await using engine = await openDatabase(location, { purpose: 'command' });
      const isEmpty = async () => (await readMailIds(engine.db)).length === 0;
      await waitUntil('the outbox is empty', isEmpty, 120_000);
      await mailServer.whenIdle();
      const repeated = kept.checkCopies();
      const caused = await traffic.checkMails(engine.db);
      await verifyAll(url, mailServer.mails);
      return `${kills} kills of ${SENDERS} senders; ${caused}; none of ${mailServer.mails.length} mails was lost, ${repeated} were sent again after a kill, and all links work`;
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  },
};

/**
 * Sends requests, and kills all processes after a random time.
 * @param mailServer if given, also waits for its next mail
 */
async function killUnderLoad(
  servers: readonly Server[],
  traffic: Pick<ReturnType<typeof openTraffic>, 'send'>,
  mailServer: Pick<MailServer, 'whenNext'> | undefined,
): Promise<void> {
  let isKilled = false;
  const writing = Array.from({ length: WRITERS }, async () => {
    while (await traffic.send(draw(servers).url));
    assert(isKilled, 'A running server has sent no response');
  });
  const written = Promise.all(writing);
  await Promise.race([written, sleep(Math.random() * MAX_WRITING_MS)]);
  if (mailServer) await Promise.race([written, mailServer.whenNext()]);
  isKilled = true;
  await Promise.all(servers.map((server) => server.kill()));
  await written;
}

async function startServers(
  settings: Record<string, string>,
  cleanup: AsyncDisposableStack,
): Promise<[Server, ...Server[]]> {
  const start = async (WORKERS: string) => cleanup.use(await startServer({ ...settings, WORKERS }));
  // Machines cannot share a SQLite file.
  return isPostgresql ? [await start('1'), await start('1')] : [await start(String(SENDERS))];
}

/** Registrations and requests for password resets, and the mail that they must cause. */
function openTraffic({ mails }: MailServer) {
  const accounts: string[] = [];
  const resetting: string[] = [];
  /** The number of mails that had arrived before the last request for a reset, by address. */
  const resets = new Map<string, number>();
  let resetCount = 0;

  async function register(url: string): Promise<boolean> {
    const username = randomBytes(8).toString('hex');
    const email = `${username}@example.com`;
    const body = { username, email, password: 'correct horse battery' };
    const { response, error } = await api.register({ client: retryingClientOf(url), body });
    if (!isAnswered(response, error)) return false;
    accounts.push(email);
    remember(resetting, email, MAX_RESETTING);
    return true;
  }

  async function requestReset(url: string): Promise<boolean> {
    const email = draw(resetting);
    const countBefore = mails.length;
    const client = retryingClientOf(url);
    const { response, error } = await api.requestPasswordReset({ client, body: { email } });
    if (!isAnswered(response, error)) return false;
    resets.set(email, Math.max(countBefore, resets.get(email) ?? 0));
    resetCount += 1;
    return true;
  }

  return {
    /** Sends a request. Resolves to false without a response. */
    send: (url: string) =>
      resetting.length === 0 || Math.random() < 0.5 ? register(url) : requestReset(url),

    /** Checks that all mail has arrived. Returns what has caused it. */
    async checkMails(db: Database): Promise<string> {
      const rows = await db.selectFrom('users').select('email').execute();
      // Also registrations without a response: an account is never stored without its mail.
      const stored = rows.map(({ email }) => email);
      assert.deepEqual(
        accounts.filter((email) => !stored.includes(email)),
        [],
        'accounts that are lost',
      );
      const find = (email: string, view: string) =>
        mails.findLastIndex(({ to, link }) => to === email && link.includes(view));
      assert.deepEqual(
        stored.filter((email) => find(email, 'verify-email') === -1),
        [],
        'accounts without their mail',
      );
      assert.deepEqual(
        [...resets].filter(([email, first]) => find(email, 'reset-password') < first),
        [],
        'password resets without their mail',
      );
      return `${stored.length} registrations, ${resetCount} requests for password resets`;
    },
  };
}

/** Whether a response has arrived completely. Rejects unexpected ones. */
function isAnswered(response: Response | undefined, error: unknown): boolean {
  if (response === undefined) return false;
  if (response.ok) return error === undefined;
  assert.fail(`${response.status}: ${JSON.stringify(error)}`);
}

/** Observes which mails a kill leaves in the outbox although the mail server has accepted them. */
function observeKeptMails({ mails, whenIdle }: MailServer) {
  /** How often a kill has done so, by the id of the mail. */
  const kills = new Map<string, number>();
  const killsOf = (id: string) => kills.get(id) ?? 0;

  /** Returns the number of copies by the id of the mail. */
  function countCopies(): Map<string, number> {
    const copies = new Map<string, number>();
    for (const each of mails) copies.set(idOf(each), (copies.get(idOf(each)) ?? 0) + 1);
    for (const [id, count] of copies) {
      assert(count <= 1 + killsOf(id), `${id} was sent ${count} times after ${killsOf(id)} kills`);
    }
    return copies;
  }

  return {
    async record(db: Database): Promise<void> {
      // The mail server may still be reading what a killed sender has sent.
      await whenIdle();
      const copies = countCopies();
      const ids = await readMailIds(db);
      const kept = ids.filter((id) => (copies.get(id) ?? 0) > killsOf(id));
      assert(kept.length <= SENDERS, `${kept.length} mails were sent and kept`);
      for (const id of kept) kills.set(id, killsOf(id) + 1);
    },

    /** Checks that no other mail was sent twice. Returns the number of additional copies. */
    checkCopies: () => mails.length - countCopies().size,
  };
}

/** Returns the part of the Message-ID that is in the outbox, too. */
function idOf({ headers }: ReceivedMail): string {
  return /^Message-ID: <([^@]+)@/m.exec(headers)?.[1] ?? '';
}

async function readMailIds(db: Database): Promise<string[]> {
  const rows = await db.selectFrom('mails').select('mail_id').execute();
  return rows.map(({ mail_id }) => mail_id);
}

/** Ends all leases and pauses. */
async function makeDue(db: Database): Promise<void> {
  await db
    .updateTable('mails')
    .set({ send_after: new Date(0).toISOString() })
    .execute();
}

/** Checks that the token of each mail was stored before the mail was sent. */
async function verifyAll(url: string, mails: readonly ReceivedMail[]): Promise<void> {
  const client = clientOf(url);
  for (const { link, token } of mails) {
    if (!link.includes('verify-email')) continue;
    await api.verifyEmail({ client, body: { token }, throwOnError: true });
  }
}
