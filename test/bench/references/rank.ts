import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Engine } from '../../../server/database/engine.ts';
import { typedMatcher } from '../../../server/search/matcher.ts';
import { queryWords } from '../../../server/text/words/query.ts';
import { keepInMemory } from '../database.ts';
import type { Effort } from '../effort.ts';
import { asking, time } from '../latency.ts';
import { makeQueries } from '../queries.ts';
import { type Figure, rounded } from '../report.ts';
import { median, rangeOf } from '../statistics.ts';

/**
 * Common words, against what SQLite's full-text search is mostly used for: the twenty best by `ORDER BY rank` (bm25),
 * in an FTS5 table as its documentation makes them, of the same rows. Both sides answer twenty row ids; then ours answers whole results as JSON, which the other is not asked for.
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

  const first = await time((word) => {
    const { pattern } = typedMatcher(queryWords(word), []);
    const query = { pattern, scope: 'all' } as const;
    return engine.wordIndex.find(engine.readDb, query, { after: -1, limit: 20 });
  }, words);
  const whole = await time(asking(engine), words);
  ranked.close();

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
