import { type Kysely, sql } from 'kysely';

/** Adds the number of public spaces of each tag, and lists of tags by prefix. See `search/tag-counts.ts`. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `CREATE TABLE tag_counts (
    tag_id INTEGER PRIMARY KEY REFERENCES tags,
    space_count INTEGER NOT NULL
  ) STRICT`,
  `CREATE TABLE tag_prefixes (
    prefix TEXT NOT NULL,
    space_count INTEGER NOT NULL,
    tag_id INTEGER NOT NULL,
    PRIMARY KEY (prefix, space_count, tag_id)
  ) STRICT, WITHOUT ROWID`,
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
