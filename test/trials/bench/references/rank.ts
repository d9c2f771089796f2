import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Engine } from '../../../../server/database/engine.ts';
import { median, rangeOf } from '../../../support/statistics.ts';
import { keepInMemory } from '../database.ts';
import type { Effort } from '../effort.ts';
import { patternOf, readKeys } from '../keys.ts';
import { createSearch, timeQueries } from '../latency.ts';
import { makeQueries } from '../queries.ts';
import { type Figure, formatNumber } from '../report.ts';

/** A default FTS5 table with the same rows, searched with `ORDER BY rank` (bm25). */
export interface Ranked extends Disposable {
  /** Returns the row ids of the twenty best matches for all words of a query, without prefixes or corrections. */
  search(query: string): number[];
}

/** Opens the table in its own file in the data folder. Builds it the first time. */
export async function openRanked(dataDir: string): Promise<Ranked> {
  const file = await buildRanked(dataDir);
  keepInMemory(file);
  const database = new Sqlite(file, { readonly: true });
  const best = database
    .prepare<[string], number>(
      'SELECT rowid FROM ranked WHERE ranked MATCH ? ORDER BY rank LIMIT 20',
    )
    .pluck();
  return {
    search(query) {
      const words = query.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
      return best.all(words.map((word) => `"${word}"`).join(' '));
    },
    [Symbol.dispose]: () => database.close(),
  };
}

/**
 * Compares common words with the usual full-text search in SQLite. The first figure compares prepared statements that
 * return twenty row ids. The second compares our whole page as JSON with the same reference.
 */
export async function measureRank(
  dataDir: string,
  engine: Engine,
  spaces: number,
  { queries }: Effort,
): Promise<Figure[]> {
  const words = makeQueries(spaces)['common word'].slice(0, queries);
  using ranked = await openRanked(dataDir);
  const theirs = await timeQueries(async (word) => ranked.search(word), words);
  const statement = await timeQueries((word) => readKeys(engine, patternOf(word)), words);
  const wholePage = await timeQueries(createSearch(engine), words);

  const figure = (name: string, ours: readonly number[]) => {
    const ratios = ours.map((milliseconds, i) => (theirs[i] as number) / milliseconds);
    return {
      name,
      ours: `${formatNumber(1000 * median(ours))} µs`,
      reference: `${formatNumber(1000 * median(theirs))} µs`,
      value: median(ratios),
      unit: 'x',
      spread: rangeOf(ratios),
    } as const;
  };
  return [
    {
      ...figure('common words, statement against ORDER BY rank', statement),
      target: { min: 2_000 },
    },
    {
      ...figure('common words, whole page as JSON against ORDER BY rank', wholePage),
      note: 'the reference returns row ids only',
    },
  ];
}

async function buildRanked(dataDir: string): Promise<string> {
  const file = join(dataDir, 'ranked.sqlite');
  if (existsSync(file)) return file;
  await rm(`${file}.unfinished`, { force: true });
  const database = Sqlite(`${file}.unfinished`);
  database.prepare('ATTACH ? AS service').run(join(dataDir, 'space-service.sqlite'));
  database.exec(`
    CREATE VIRTUAL TABLE ranked USING fts5(title, description);
    INSERT INTO ranked (rowid, title, description)
      SELECT pk, title, description FROM service.spaces WHERE visibility = 'public';
    INSERT INTO ranked (ranked) VALUES ('optimize');
  `);
  database.close();
  await rename(`${file}.unfinished`, file);
  return file;
}
