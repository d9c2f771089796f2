import { LRUCache } from 'lru-cache';
import type { Engine } from '../database/engine.ts';
import type { Position } from '../pagination.ts';
import { endOfSlice } from '../system/event-loop.ts';
import { runAs, SERVER } from '../system/senders.ts';
import { type Dictionary, readDictionary } from './dictionary/dictionary.ts';
import type { ResultPlace } from './results.ts';
import { currentVersions, type SearchVersions } from './revision.ts';
import { readIndex, type SearchView } from './view.ts';

/** Approximate memory of a process's cached responses. */
const MAX_CACHE_BYTES = 24 * 2 ** 20;

/** Approximate memory of a cache entry in addition to its key, body and position. */
const ENTRY_BYTES = 1_000;

/** Approximate memory of a position per character of its JSON text. It consists of many short strings and arrays. */
const BYTES_PER_POSITION_CHARACTER = 4;

/** Approximate memory of a `ResultPlace`. */
const PLACE_BYTES = 120;

/** Larger responses are not cached, so that one cannot evict many others. */
const MAX_CACHED_RESPONSE_BYTES = MAX_CACHE_BYTES / 16;

export interface SearchResponse {
  /** JSON array of search results. */
  body: Buffer;
  /** Of the search results, in their order. */
  places: readonly ResultPlace[];
  /** Where the next page begins; null after the last page. */
  next: Position | null;
  /** See `TextPage.answeredQuery`. */
  answeredQuery: string | null;
}

/** The in-memory state of searches in one process. */
export interface SearchState {
  /** The revision of all cached responses. */
  revision: number;
  /** See `readSharedVersions`. */
  pendingVersions: Promise<SearchVersions> | undefined;
  responses: LRUCache<string, SearchResponse>;
  /** The latest dictionary that was requested. It may still be loading. */
  dictionary: { version: number; value: Promise<Dictionary> } | undefined;
}

export function openSearchState(): SearchState {
  return {
    revision: 0,
    pendingVersions: undefined,
    responses: new LRUCache({
      maxSize: MAX_CACHE_BYTES,
      maxEntrySize: MAX_CACHED_RESPONSE_BYTES,
      sizeCalculation: sizeOf,
    }),
    dictionary: undefined,
  };
}

/** Returns the approximate memory of a cached response in bytes. */
function sizeOf({ body, places, next }: SearchResponse, key: string): number {
  const position = BYTES_PER_POSITION_CHARACTER * JSON.stringify(next).length;
  return ENTRY_BYTES + key.length + body.length + PLACE_BYTES * places.length + position;
}

/**
 * Returns the cached response for a key. Calls `read` and caches its result if there is none, or if any process has
 * written something that affects search results since.
 */
export async function getCachedResponse(
  engine: Engine,
  state: SearchState,
  key: string,
  read: (view: SearchView, dictionary: Dictionary) => Promise<SearchResponse>,
): Promise<SearchResponse> {
  const { revision, dictionary: version } = await readSharedVersions(engine, state);
  if (revision !== state.revision) {
    state.responses.clear();
    state.revision = revision;
  }
  const cached = state.responses.get(key);
  if (cached) return cached;
  const dictionary = await getDictionary(engine, state, version);
  return readIndex(engine, async (view) => {
    const current = await currentVersions(view.db);
    const response = await read(view, dictionary);
    // Another request may have advanced `state.revision`, or another process the index.
    if (state.revision === current.revision) state.responses.set(key, response);
    return response;
  });
}

/** Reads the current versions once for all requests of a slice. */
function readSharedVersions(engine: Engine, state: SearchState): Promise<SearchVersions> {
  state.pendingVersions ??= endOfSlice().then(async () => {
    // Later requests must see later writes, so they start another read.
    state.pendingVersions = undefined;
    return runAs(SERVER, async () => {
      await engine.searchIndex.update();
      return currentVersions(engine.searchIndex.db);
    });
  });
  return state.pendingVersions;
}

function getDictionary(engine: Engine, state: SearchState, version: number): Promise<Dictionary> {
  if (state.dictionary?.version !== version) {
    const value = runAs(SERVER, () => readDictionary(engine.searchIndex));
    state.dictionary = { version, value };
    // If it fails, the next request tries again.
    value.catch(() => {
      if (state.dictionary?.value === value) state.dictionary = undefined;
    });
  }
  return state.dictionary?.value as Promise<Dictionary>;
}
