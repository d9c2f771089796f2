import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import type { Engine } from '../../server/database/engine.ts';
import { queryWords } from '../../server/search/words/words.ts';

/** Reads only the keys of a page from the word index: no titles first, no corrections, no rows. */
export interface KeyReader extends Disposable {
  /** Splits a query into words and writes them in the index's query language. */
  pattern(query: string): string;
  /** Reads the keys of the twenty best matches of a pattern. */
  read(pattern: string): Promise<number[]>;
}

export function openKeyReader(dataDir: string, engine: Engine): KeyReader {
  const matches = engine.text.matches(sql<string>`${'the only parameter'}`, sql<number>`-1`);
  const compiled = sql`SELECT key FROM ${matches} LIMIT 20`.compile(engine.readDb);
  const database = new Sqlite(join(dataDir, 'space-service.sqlite'), { readonly: true });
  const statement = database.prepare<[string], number>(compiled.sql).pluck();
  return {
    pattern: (query) => engine.text.pattern(queryWords(query), 'all'),
    read: async (pattern) => statement.all(pattern),
    [Symbol.dispose]: () => database.close(),
  };
}
