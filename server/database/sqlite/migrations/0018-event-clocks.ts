import { type Kysely, sql } from 'kysely';

/**
 * Replaces the clocks of spaces by the times of their events. Earlier versions imported messages with times in the
 * future, which would be the latest events.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `UPDATE messages SET created_at = strftime('%Y-%m-%dT%H:%M:%fZ')
    WHERE (created_at > strftime('%Y-%m-%dT%H:%M:%fZ') OR created_at LIKE '+%')
      AND NOT EXISTS (
        SELECT 1 FROM space_clocks WHERE space_clocks.space_pk = messages.space_pk
          AND last_event_ms >= round(unixepoch(created_at, 'subsec') * 1000)
      )`,
  'DROP TABLE space_clocks',
];
