import { type Kysely, sql } from 'kysely';

/**
 * Continues the sequence also after an import that sets only the first id. An unused sequence already has this id as
 * its `last_value`, so the condition of the first migration missed it, and the next insert failed.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE OR REPLACE FUNCTION continue_tag_ids() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN
      PERFORM setval(''tags_tag_id_seq'', greatest.tag_id)
        FROM (SELECT max(tag_id) AS tag_id FROM added) AS greatest, tags_tag_id_seq AS ids
        WHERE greatest.tag_id > ids.last_value OR (greatest.tag_id = ids.last_value AND NOT ids.is_called);
      RETURN NULL;
    END'`.execute(db);
  // Such an import may have been made before.
  await sql`SELECT setval('tags_tag_id_seq', tag_id)
    FROM tags, tags_tag_id_seq AS ids
    WHERE tag_id = ids.last_value AND NOT ids.is_called`.execute(db);
}
