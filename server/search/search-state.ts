import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Engine } from '../database/engine.ts';
import type { Position } from '../pagination.ts';
import { type Dictionary, readDictionary } from './dictionary/dictionary.ts';
import { currentVersions, type SearchVersions } from './revision.ts';

/** Total size of a process's cached responses and their keys. */
const MAX_CACHE_BYTES = 24 * 2 ** 20;

export interface SearchResponse {
  /** The array of results as JSON. */
  body: Buffer;
  /** Where the next page begins; null after the last page. */
  next: Position | null;
  /** The query that was answered beside the query as typed; null if there is none. */
  answeredQuery: string | null;
}

/** What a process keeps in memory for searches: the dictionary, and responses, which are all of one revision. */
export interface SearchState {
  revision: number;
  /** The pending read of the current versions, shared by the requests of one turn of the event loop. */
  pendingVersions: Promise<SearchVersions> | undefined;
  responses: LRUCache<string, SearchResponse>;
  /** The dictionary of a version, or the pending read of it. */
  dictionary: { version: number; value: Promise<Dictionary> } | undefined;
}

export function openSearchState(): SearchState {
  return {
    revision: 0,
    pendingVersions: undefined,
    responses: new LRUCache({
      maxSize: MAX_CACHE_BYTES,
      maxEntrySize: MAX_CACHE_BYTES / 16,
      sizeCalculation: ({ body }, key) => body.length + key.length,
    }),
    dictionary: undefined,
  };
}

/**
 * Returns the cached response of this key, unless any process has changed what searches can return since.
 * @param read produces the response as of the given revision
 */
export async function recallResponse(
  engine: Engine,
  state: SearchState,
  key: string,
  read: (revision: number, dictionary: Dictionary) => Promise<SearchResponse>,
): Promise<SearchResponse> {
  const versions = await readVersions(engine, state);
  const { revision } = versions;
  if (revision !== state.revision) {
    state.responses.clear();
    state.revision = revision;
  }
  const cached = state.responses.get(key);
  if (cached) return cached;
  const response = await read(revision, await dictionaryOf(engine, state, versions.dictionary));
  // Another request may have seen a later revision meanwhile.
  if (state.revision === revision) state.responses.set(key, response);
  return response;
}

function readVersions(engine: Engine, state: SearchState): Promise<SearchVersions> {
  state.pendingVersions ??= nextTurn().then(() => {
    // Requests that arrive from now on may know of a later write.
    state.pendingVersions = undefined;
    return currentVersions(engine);
  });
  return state.pendingVersions;
}

function dictionaryOf(engine: Engine, state: SearchState, version: number): Promise<Dictionary> {
  if (state.dictionary?.version !== version) {
    const value = readDictionary(engine);
    state.dictionary = { version, value };
    value.catch(() => {
      state.dictionary = undefined;
    });
  }
  return state.dictionary?.value as Promise<Dictionary>;
}
