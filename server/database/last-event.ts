import { type RawBuilder, sql } from 'kysely';

/**
 * SQL for the time of the latest event in a space, null if there is none. See `messages/message-order.ts`.
 * @param spacePk the key of the space
 */
export function lastEventTime(spacePk: RawBuilder<number> | number): RawBuilder<string | null> {
  return sql`(SELECT max(time) FROM (
    SELECT max(created_at) AS time FROM messages WHERE messages.space_pk = ${spacePk}
    UNION ALL
    SELECT max(changed_at) FROM message_changes WHERE message_changes.space_pk = ${spacePk}
  ) AS events)`;
}
