import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database, Engine } from '../engine.ts';
import { openPool } from './pool.ts';

const CHANNEL = 'space_service_events';

/** Announcements of this time share a notification, so that many writers cause few of them. */
const SEND_INTERVAL_MS = 10;

/** PostgreSQL accepts 8,000 bytes, and a subject has up to 78. */
const MAX_SUBJECTS_PER_NOTIFICATION = 100;

const RECONNECT_DELAY_MS = 1_000;

export interface Announcements extends Pick<Engine, 'announceEvent' | 'onEvent'> {
  close(): Promise<void>;
}

/**
 * Announces events to this process at once, and to others with NOTIFY. A notification is not part of the transaction of
 * its event, because PostgreSQL commits transactions with notifications one after the other. So it is lost if this
 * process ends in between. With a connection pooler, others may not receive any.
 */
export function openAnnouncements(url: string, db: Database): Announcements {
  const events = new EventEmitter<{ event: [subject: string] }>();
  const sender = crypto.randomUUID();
  const stopping = new AbortController();
  const unsent = new Set<string>();
  let sending: Promise<void> | undefined;
  let listening: Promise<void> | undefined;

  async function send(): Promise<void> {
    await sleep(SEND_INTERVAL_MS);
    const subjects = [...unsent];
    unsent.clear();
    sending = undefined;
    for (let i = 0; i < subjects.length; i += MAX_SUBJECTS_PER_NOTIFICATION) {
      const payload = [sender, ...subjects.slice(i, i + MAX_SUBJECTS_PER_NOTIFICATION)].join(' ');
      // Others notice the event by their own polls.
      await sql`SELECT pg_notify(${CHANNEL}, ${payload})`.execute(db).catch(() => {});
    }
  }

  /** Listens until `close`, and connects again whenever the connection is lost. */
  async function listen(): Promise<void> {
    // A separate pool, because the other one closes connections that receive nothing for long.
    const pool = openPool(url, { maxConnections: 1, responseTimeoutMs: 0 });
    while (!stopping.signal.aborted) {
      try {
        const client = await pool.connect();
        const lost = Promise.withResolvers<void>();
        client.on('end', lost.resolve);
        client.on('notification', ({ payload = '' }) => {
          const [from, ...subjects] = payload.split(' ');
          if (from === sender) return;
          for (const subject of subjects) events.emit('event', subject);
        });
        stopping.signal.addEventListener('abort', () => lost.resolve());
        await client.query(`LISTEN ${CHANNEL}`);
        await lost.promise;
        client.release(true);
      } catch {
        // Queries of requests fail for the same reason, and are logged.
      }
      await sleep(RECONNECT_DELAY_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
    await pool.end();
  }

  return {
    announceEvent(subject) {
      events.emit('event', subject);
      unsent.add(subject);
      sending ??= send();
    },
    onEvent(listener) {
      events.on('event', listener);
      listening ??= listen();
    },
    async close() {
      stopping.abort();
      await Promise.all([sending, listening]);
    },
  };
}
