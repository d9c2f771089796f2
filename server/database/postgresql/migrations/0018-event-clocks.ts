import { type Kysely, sql } from 'kysely';

/** See the migration of the same name for SQLite, and `event-clocks.ts`. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const now = `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const statements = [
  `UPDATE messages SET created_at = ${now}
    WHERE (created_at > ${now} OR created_at LIKE '+%')
      AND NOT EXISTS (
        SELECT 1 FROM space_clocks WHERE space_clocks.space_pk = messages.space_pk
          AND to_char(to_timestamp(last_event_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') >= created_at
          AND created_at NOT LIKE '+%'
      )`,
  ...Array.from({ length: 64 }, (_, clock) => [
    `CREATE SEQUENCE event_clock_${clock}`,
    `SELECT setval('event_clock_${clock}', max(last_event_ms)) FROM space_clocks
      WHERE space_pk % 64 = ${clock} HAVING max(last_event_ms) > 0`,
    `DROP TABLE message_order_${clock}`,
  ]).flat(),
  'DROP TABLE space_clocks',
];
