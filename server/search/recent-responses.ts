import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Engine } from '../database/engine.ts';
import { currentRevision } from './revision.ts';

/** Total size of a process's cached responses and their keys. */
const MAX_CACHE_BYTES = 24 * 2 ** 20;

export interface SearchResponse {
  /** The array of results as JSON. */
  body: Buffer;
  /** The next page's cursor; null after the last page. */
  next: string | null;
}

/** A process's cached responses. All of them are of one revision. */
export interface RecentResponses {
  revision: number;
  /** The pending read of the current revision, shared by the requests of one turn of the event loop. */
  pendingRevision: Promise<number> | undefined;
  responses: LRUCache<string, SearchResponse>;
}

export function openRecentResponses(): RecentResponses {
  return {
    revision: 0,
    pendingRevision: undefined,
    responses: new LRUCache({
      maxSize: MAX_CACHE_BYTES,
      maxEntrySize: MAX_CACHE_BYTES / 16,
      sizeCalculation: ({ body }, key) => body.length + key.length,
    }),
  };
}

/**
 * Returns the cached response of this key, unless any process has changed what searches can return since.
 * @param read produces the response as of the given revision
 */
export async function recallResponse(
  engine: Engine,
  recent: RecentResponses,
  key: string,
  read: (revision: number) => Promise<SearchResponse>,
): Promise<SearchResponse> {
  const revision = await readRevision(engine, recent);
  if (revision !== recent.revision) {
    recent.responses.clear();
    recent.revision = revision;
  }
  const cached = recent.responses.get(key);
  if (cached) return cached;
  const response = await read(revision);
  // Another request may have seen a later revision meanwhile.
  if (recent.revision === revision) recent.responses.set(key, response);
  return response;
}

function readRevision(engine: Engine, recent: RecentResponses): Promise<number> {
  recent.pendingRevision ??= nextTurn().then(() => {
    // Requests that arrive from now on may know of a later write.
    recent.pendingRevision = undefined;
    return currentRevision(engine);
  });
  return recent.pendingRevision;
}
