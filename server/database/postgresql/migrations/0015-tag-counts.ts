import { type Kysely, sql } from 'kysely';

/** The same tables as on SQLite. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `CREATE TABLE tag_counts (
    tag_id bigint PRIMARY KEY REFERENCES tags,
    space_count bigint NOT NULL
  )`,
  `CREATE TABLE tag_prefixes (
    prefix text COLLATE "C" NOT NULL,
    space_count bigint NOT NULL,
    tag_id bigint NOT NULL,
    PRIMARY KEY (prefix, space_count, tag_id)
  )`,
  `INSERT INTO tag_counts (tag_id, space_count)
    SELECT tag_hits.tag_id, count(*)
    FROM tag_hits JOIN public_spaces ON public_spaces.key = tag_hits.key
    GROUP BY tag_hits.tag_id`,
  `INSERT INTO tag_prefixes (prefix, space_count, tag_id)
    WITH RECURSIVE lengths (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM lengths WHERE n < 30)
    SELECT substr(tags.tag_key, 1, n), tag_counts.space_count, tags.tag_id
    FROM tag_counts JOIN tags ON tags.tag_id = tag_counts.tag_id JOIN lengths ON n <= length(tags.tag_key)
    ORDER BY 1, 2, 3`,
];
