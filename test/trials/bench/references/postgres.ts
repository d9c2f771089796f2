import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { makeReachable, prepareServer } from '../../../support/postgresql.ts';
import { majorVersion } from '../../../support/postgresql-binaries.ts';
import { spaceOf } from '../data.ts';
import { chunksOf, progress } from '../database.ts';

/** PostgreSQL's own full-text search on the same spaces. */
export interface TsRank extends AsyncDisposable {
  version: string;
  /** Returns the first twenty rows by `ts_rank`. Every word is a prefix, as in the service. */
  search(query: string): Promise<unknown[]>;
}

/** The fastest settings for this query on the machine of the results. Others are those for tests, or defaults. */
export const SETTINGS = ['shared_buffers=1GB', 'work_mem=64MB', 'random_page_cost=1.1', 'jit=off'];

/** Starts PostgreSQL with a cluster in `folder`. Creates and fills the cluster the first time. */
export async function startTsRank(folder: string, spaces: number): Promise<TsRank> {
  const dataDir = join(folder, `postgres-${majorVersion()}-${spaces}`);
  const filled = `${dataDir}.filled`;
  const { url, initialise, start, stop } = await prepareServer(dataDir, SETTINGS);
  if (!existsSync(filled)) {
    await rm(dataDir, { recursive: true, force: true });
    await makeReachable(folder);
    await initialise();
  }
  await using started = new AsyncDisposableStack();
  await start();
  started.defer(stop);
  const client = new pg.Client({ connectionString: url });
  // After a lost connection, the pending or next query rejects.
  client.on('error', () => {});
  await client.connect();
  started.defer(() => client.end());
  if (!existsSync(filled)) {
    await fill(client, spaces);
    await writeFile(filled, '');
  }
  const { rows } = await client.query('SHOW server_version');
  const owned = started.move();
  return {
    version: rows[0].server_version,
    async search(query) {
      // Named, so that the statement is prepared once.
      const result = await client.query({
        name: 'search',
        text: `SELECT space_id, title, description, participant_count, tags
          FROM spaces, to_tsquery('simple', $1) AS query
          WHERE words @@ query ORDER BY ts_rank(words, query) DESC LIMIT 20`,
        values: [
          query
            .split(' ')
            // Quoted, because joined words contain operators of to_tsquery.
            .map((word) => `'${word.replaceAll("'", "''")}':*`)
            .join(' & '),
        ],
      });
      return result.rows;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function fill(client: pg.Client, spaces: number): Promise<void> {
  await client.query(`CREATE TABLE spaces (
    id bigint PRIMARY KEY, space_id text NOT NULL, title text NOT NULL, description text NOT NULL,
    participant_count int NOT NULL, tags text[] NOT NULL, words tsvector NOT NULL)`);
  const numbers = Array.from({ length: spaces }, (_, i) => i);
  for (const chunk of chunksOf(numbers, 5_000)) {
    const rows = chunk.map((id) => {
      const { participants, space_id, title, description, tags } = spaceOf(id);
      return { id, space_id, title, description, participant_count: participants.length + 1, tags };
    });
    await client.query(
      `INSERT INTO spaces SELECT id, space_id, title, description, participant_count, tags,
         setweight(to_tsvector('simple', title), 'A')
         || setweight(to_tsvector('simple', description), 'B')
       FROM jsonb_to_recordset($1) AS row (id bigint, space_id text, title text, description text,
         participant_count int, tags text[])`,
      [JSON.stringify(rows)],
    );
    progress(`  PostgreSQL: ${(chunk[0] as number).toLocaleString('en')} spaces`);
  }
  progress('  PostgreSQL: building the index');
  await client.query(`SET maintenance_work_mem = '1GB'`);
  await client.query(
    'CREATE INDEX spaces_words ON spaces USING gin (words) WITH (fastupdate = off)',
  );
  await client.query('VACUUM ANALYZE spaces');
  progress('');
}
