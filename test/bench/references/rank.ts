import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Engine } from '../../../server/database/engine.ts';
import { keepInMemory } from '../database.ts';
import type { Effort } from '../effort.ts';
import { patternOf, readKeys } from '../keys.ts';
import { asking, time } from '../latency.ts';
import { makeQueries } from '../queries.ts';
import { type Figure, rounded } from '../report.ts';
import { median, rangeOf } from '../statistics.ts';

/** A stock FTS5 table of the same rows, searched by `ORDER BY rank` (bm25). */
export interface Ranked extends Disposable {
  /** Reads the row ids of the twenty best matches of all words of a query, as they are. */
  search(query: string): number[];
}

/** Opens the table beside the service's file. Builds it the first time. */
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
 * Compares common words with the usual way to search in SQLite. Both sides return twenty row ids by a prepared
 * statement. Then ours returns whole results as JSON.
 */
export async function measureRank(
  dataDir: string,
  engine: Engine,
  spaces: number,
  { queries }: Effort,
): Promise<Figure[]> {
  const words = makeQueries(spaces)['common word'].slice(0, queries);
  using ranked = await openRanked(dataDir);
  const theirs = await time(async (word) => ranked.search(word), words);
  const first = await time((word) => readKeys(engine, patternOf(word)), words);
  const whole = await time(asking(engine), words);

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
