import { sql } from 'kysely';
import type { Database } from '../engine.ts';
import { type Change, changeLists } from './word-blocks.ts';
import { findKeys } from './word-search.ts';
import { termsOf } from './word-terms.ts';

interface Doc {
  key: number;
  words: { title: string[]; all: string[] };
}

export const wordIndex = {
  async add(db: Database, documents: readonly Doc[]) {
    await changeLists(db, changesOf(documents, 'added'));
  },
  async remove(db: Database, documents: readonly Doc[]) {
    await changeLists(db, changesOf(documents, 'removed'));
  },
  async optimize() {},
  async clear(db: Database) {
    await sql`TRUNCATE word_blocks`.execute(db);
  },
  find: findKeys,
};

function changesOf(documents: readonly Doc[], kind: keyof Change): Map<string, Change> {
  const changes = new Map<string, Change>();
  for (const { key, words } of documents) {
    for (const term of termsOf(words)) {
      const change = changes.get(term);
      if (change) change[kind].push(key);
      else changes.set(term, { added: [], removed: [], [kind]: [key] });
    }
  }
  for (const { added, removed } of changes.values()) {
    added.sort((a, b) => a - b);
    removed.sort((a, b) => a - b);
  }
  return changes;
}
