import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import type { Engine } from '../../../server/database/engine.ts';
import { queryWords } from '../../../server/text/words/query.ts';
import { keepInMemory } from '../database.ts';
import type { Effort } from '../effort.ts';
import { asking, time } from '../latency.ts';
import { makeQueries } from '../queries.ts';
import { type Figure, rounded } from '../report.ts';
import { median, rangeOf } from '../statistics.ts';

/**
 * Common words, against what SQLite's full-text search is mostly used for: the twenty best by `ORDER BY rank` (bm25),
 * in an FTS5 table as its documentation makes them, of the same rows. Both sides answer twenty row ids, by a prepared
 * statement each; then ours answers whole results as JSON, which the other is not asked for.
 */
export async function measureRank(
  dataDir: string,
  engine: Engine,
  spaces: number,
  { queries }: Effort,
): Promise<Figure[]> {
  const words = makeQueries(spaces)['common word'].slice(0, queries);
  const file = await buildRanked(dataDir);
  keepInMemory(file);
  const ranked = Sqlite(file, { readonly: true });
  const best = ranked
    .prepare('SELECT rowid FROM ranked WHERE ranked MATCH ? ORDER BY rank LIMIT 20')
    .pluck();
  const theirs = await time(async (word) => best.all(`"${word}"`), words);

  const own = Sqlite(join(dataDir, 'space-service.sqlite'), { readonly: true });
  const statements = new Map(
    words.map((word) => {
      const pattern = sql<string>`${engine.wordIndex.pattern(queryWords(word), 'all')}`;
      const matches = engine.wordIndex.matches(pattern, sql<number>`-1`);
      const compiled = sql`SELECT key FROM ${matches} LIMIT 20`.compile(engine.readDb);
      return [word, [own.prepare(compiled.sql), compiled.parameters] as const];
    }),
  );
  const first = await time(async (word) => {
    const [statement, parameters] = statements.get(word) as [Sqlite.Statement, unknown[]];
    return statement.all(...parameters);
  }, words);
  const whole = await time(asking(engine), words);
  ranked.close();
  own.close();

  const figure = (what: string, ours: readonly number[]) => {
    const ratios = ours.map((milliseconds, i) => (theirs[i] as number) / milliseconds);
    return {
      what,
      ours: `${rounded(1000 * median(ours))} µs`,
      reference: `${rounded(1000 * median(theirs))} µs`,
      value: median(ratios),
      unit: 'x',
      spread: rangeOf(ratios),
    } as const;
  };
  return [
    {
      ...figure('common words, statement against ORDER BY rank', first),
      wanted: { least: 2_000 },
    },
    {
      ...figure('common words, whole page as JSON against ORDER BY rank', whole),
      note: 'the reference answers row ids only',
    },
  ];
}

/** The table is built beside the service's file, once. */
async function buildRanked(dataDir: string): Promise<string> {
  const file = join(dataDir, 'ranked.sqlite');
  if (existsSync(file)) return file;
  await rm(`${file}.unfinished`, { force: true });
  const database = Sqlite(`${file}.unfinished`);
  database.prepare('ATTACH ? AS service').run(join(dataDir, 'space-service.sqlite'));
  database.exec(`
    PRAGMA journal_mode = OFF;
    CREATE VIRTUAL TABLE ranked USING fts5(title, description);
    INSERT INTO ranked (rowid, title, description)
      SELECT pk, title, description FROM service.spaces WHERE visibility = 'public';
    INSERT INTO ranked (ranked) VALUES ('optimize');
  `);
  database.close();
  await rename(`${file}.unfinished`, file);
  return file;
}
