import { setImmediate as turn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Engine } from '../database/engine.ts';
import { currentRevision } from './revision.ts';

/** How many bytes of answers a process keeps. */
const CAPACITY = 24 * 2 ** 20;

/** What a search was answered with. */
export interface SearchAnswer {
  /** The array of results as JSON. */
  body: Buffer;
  /** Where the next page is; null after the last. */
  link: string | null;
}

/** The answers that were given lately, all as of one revision. */
export interface RecentAnswers {
  revision: number;
  /** The look at the revision that is about to be taken, for all who ask until then. */
  look: Promise<number> | undefined;
  answers: LRUCache<string, SearchAnswer>;
}

export function openRecentAnswers(): RecentAnswers {
  return {
    revision: 0,
    look: undefined,
    answers: new LRUCache({
      maxSize: CAPACITY,
      maxEntrySize: CAPACITY / 16,
      sizeCalculation: ({ body }, key) => body.length + key.length,
    }),
  };
}

/**
 * The answer of this key: from memory, unless what a search could answer with has changed since, in whichever process.
 * @param read makes the answer anew, as of the given revision
 */
export async function recall(
  engine: Engine,
  recent: RecentAnswers,
  key: string,
  read: (revision: number) => Promise<SearchAnswer>,
): Promise<SearchAnswer> {
  const revision = await lookTogether(engine, recent);
  if (revision !== recent.revision) {
    recent.answers.clear();
    recent.revision = revision;
  }
  const known = recent.answers.get(key);
  if (known) return known;
  const answer = await read(revision);
  // Meanwhile another request may have seen a later revision.
  if (recent.revision === revision) recent.answers.set(key, answer);
  return answer;
}

/** The current revision, by one look for all requests that this turn of the event loop has brought. */
function lookTogether(engine: Engine, recent: RecentAnswers): Promise<number> {
  recent.look ??= turn().then(() => {
    // Who asks from now on may know of a later write.
    recent.look = undefined;
    return currentRevision(engine);
  });
  return recent.look;
}
