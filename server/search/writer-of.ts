import type { Engine } from '../database/engine.ts';
import type { IndexWriter } from './index-writer.ts';
import { loggedIndex } from './logged-index.ts';
import { ownIndex } from './own-index.ts';

/** Returns the writer for the index of a database. */
export function writerOf(engine: Pick<Engine, 'searchIndex'>): IndexWriter {
  const index = engine.searchIndex;
  return index.record ? loggedIndex(index.record) : ownIndex(index.engine);
}
