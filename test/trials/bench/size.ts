import { sql } from 'kysely';
import type { Database, Engine } from '../../../server/database/engine.ts';
import type { PerDatabase } from './database.ts';
import { type Comparison, formatSpaces } from './report.ts';

/** The tables of each part of the database. Each database has its own tables for the word index. */
const PARTS = {
  'word index': ['word_index', 'word_blocks', 'word_changes'],
  'spaces and tags': [
    'spaces',
    'space_tags',
    'tags',
    'public_spaces',
    'tag_hits',
    'tag_counts',
    'tag_prefixes',
  ],
  participations: ['participations'],
};
const OTHERS = 'everything else';

/** Bytes of each table with its indexes. */
type TableSizes = readonly { name: string; bytes: number }[];

/** Compares the sizes of all tables per space. */
export async function compareSizes(
  engines: PerDatabase<Engine>,
  spaces: number,
): Promise<Comparison> {
  const sqlite = sizesOfParts(await readSqliteSizes(engines.sqlite.db));
  const postgresql = sizesOfParts(await readPostgresqlSizes(engines.postgresql.db));
  return {
    id: 'databases, size',
    title: `Bytes per space at ${formatSpaces(spaces)} spaces`,
    columns: ['on SQLite', 'on PostgreSQL', 'PostgreSQL / SQLite'],
    rows: [...sqlite].map(([name, own]) => {
      const other = postgresql.get(name) as number;
      const note = name === OTHERS ? 'users, messages, the dictionary' : '';
      return { name, values: [own / spaces, other / spaces, other / own], note };
    }),
  };
}

function sizesOfParts(tables: TableSizes): Map<string, number> {
  const sizes = new Map([...Object.keys(PARTS), OTHERS].map((part) => [part, 0]));
  for (const { name, bytes } of tables) {
    const [part = OTHERS] = Object.entries(PARTS).find(([, names]) => names.includes(name)) ?? [];
    sizes.set(part, (sizes.get(part) as number) + bytes);
  }
  return sizes;
}

async function readSqliteSizes(db: Database): Promise<TableSizes> {
  // The tables of FTS5 are named after the virtual table, as in `word_index_data`.
  const { rows } = await sql<{ name: string; bytes: number }>`
    SELECT CASE WHEN tbl_name LIKE 'word\\_index\\_%' ESCAPE '\\' THEN 'word_index'
      ELSE coalesce(tbl_name, 'sqlite_schema') END AS name, sum(pgsize) AS bytes
    FROM dbstat LEFT JOIN sqlite_schema ON sqlite_schema.name = dbstat.name
    GROUP BY 1`.execute(db);
  return rows;
}

async function readPostgresqlSizes(db: Database): Promise<TableSizes> {
  const { rows } = await sql<{ name: string; bytes: number }>`
    SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`.execute(db);
  return rows;
}
