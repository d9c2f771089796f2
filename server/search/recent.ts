import { LRUCache } from 'lru-cache';
import type { Page } from '../cursor.ts';
import type { Engine } from '../database/engine.ts';
import type { SearchResultJson } from './results.ts';
import { currentRevision } from './revision.ts';

/** How many characters of pages a process keeps. */
const CAPACITY = 16 * 2 ** 20;

/** The pages that were asked for lately, all as of one revision. */
export interface RecentPages {
  revision: number;
  pages: LRUCache<string, Page<SearchResultJson>>;
}

export function openRecentPages(): RecentPages {
  const sizeOf = ({ items }: Page<SearchResultJson>, key: string) =>
    items.reduce((sum, { length }) => sum + length, key.length + 1);
  return {
    revision: 0,
    pages: new LRUCache({
      maxSize: CAPACITY,
      maxEntrySize: CAPACITY / 16,
      sizeCalculation: sizeOf,
    }),
  };
}

/**
 * The page of this key: from memory, unless what a search could answer with has changed since, in whichever process.
 * @param read makes the page anew, as of the given revision
 */
export async function recall(
  engine: Engine,
  recent: RecentPages,
  key: string,
  read: (revision: number) => Promise<Page<SearchResultJson>>,
): Promise<Page<SearchResultJson>> {
  const revision = await currentRevision(engine);
  if (revision !== recent.revision) {
    recent.pages.clear();
    recent.revision = revision;
  }
  const known = recent.pages.get(key);
  if (known) return known;
  const page = await read(revision);
  // Meanwhile another request may have seen a later revision.
  if (recent.revision === revision) recent.pages.set(key, page);
  return page;
}
