import { sql } from 'kysely';
import type { Database, WordPattern, WordQuery, WordRange, WordScope } from '../engine.ts';
import { KeyList } from './key-list.ts';
import { readBlocksOfKeys, readNextBlocks } from './word-blocks.ts';
import { PREFIX_MARK, prefixLength, prefixTerm, wordTerm } from './word-terms.ts';

/** Maximum number of candidates in the first step. It doubles with each step, up to MAX_CANDIDATES. */
const FIRST_CANDIDATES = 128;
const MAX_CANDIDATES = 2_048;

/** Bounds the cost of a prefix for which someone has made up many words. */
const MAX_TERMS_OF_PREFIX = 1_000;

/** A `WordPattern` with the posting lists of its terms. */
type ListPattern = KeyList | { allOf: ListPattern[] } | { anyOf: ListPattern[] };

/**
 * Returns the keys of matching documents in ascending order. Reads the posting lists in steps. The candidates of a step
 * are keys of the rarest part of the pattern. Of the other lists, it reads only the blocks that can contain a
 * candidate.
 */
export async function findKeys(
  db: Database,
  query: WordQuery,
  { after, limit, within }: WordRange,
): Promise<number[]> {
  const { pattern, except, lists } = await openLists(db, query);
  const last = within?.lastKey ?? Infinity;
  const found: number[] = [];
  let position = after + 1;
  let blockCount = 1;
  let maxCandidates = FIRST_CANDIDATES;
  await readNext(db, lists, position, blockCount);
  while (position <= last) {
    const sources = rarestLists(pattern, position);
    const unread = Math.min(...sources.map((list) => list.firstUnread(position)));
    if (unread === position) {
      blockCount *= 4;
      await readNext(
        db,
        sources.filter((list) => !list.hasRead(position)),
        position,
        blockCount,
      );
      continue;
    }
    const before = Math.min(unread, last + 1);
    const candidates = unionOf(sources, position, before).slice(0, maxCandidates);
    await readContaining(db, lists, candidates);
    for (const key of candidates) {
      if (!matches(pattern, key) || except.some((each) => matches(each, key))) continue;
      found.push(key);
      if (found.length === limit) return found;
    }
    position = candidates.length < maxCandidates ? before : (candidates.at(-1) as number) + 1;
    if (position === Infinity) return found;
    for (const list of lists) list.dropBefore(position);
    maxCandidates = Math.min(2 * maxCandidates, MAX_CANDIDATES);
  }
  return found;
}

interface OpenedQuery {
  pattern: ListPattern;
  except: ListPattern[];
  /** All lists of the pattern and the exceptions, each once. */
  lists: KeyList[];
}

async function openLists(db: Database, query: WordQuery): Promise<OpenedQuery> {
  const lists = new Map<string, KeyList>();
  const listOf = (term: string) => {
    const list = lists.get(term) ?? new KeyList(term);
    lists.set(term, list);
    return list;
  };
  const open = async (pattern: WordPattern, scope: WordScope): Promise<ListPattern> => {
    if ('allOf' in pattern) {
      return { allOf: await Promise.all(pattern.allOf.map((part) => open(part, scope))) };
    }
    if ('anyOf' in pattern) {
      return { anyOf: await Promise.all(pattern.anyOf.map((part) => open(part, scope))) };
    }
    const { term, isPrefix } = pattern;
    if (!isPrefix) return listOf(wordTerm(term, scope));
    const letters = [...term].length;
    if (prefixLength(letters) === letters) return listOf(prefixTerm(term, scope));
    const terms = await readTermsOfPrefix(db, term, scope);
    return { anyOf: terms.map(listOf) };
  };
  const pattern = await open(query.pattern, query.scope);
  const except = await Promise.all(
    (query.except ?? []).map((each) => open(each.pattern, each.scope)),
  );
  return { pattern, except, lists: [...lists.values()] };
}

/**
 * Returns the terms that replace a prefix without a list: shorter words, and longer prefixes with a list. Each
 * iteration finds the next word and skips words with the same longer prefix. `chr(1114111)` sorts after every other
 * character.
 */
async function readTermsOfPrefix(
  db: Database,
  prefix: string,
  scope: WordScope,
): Promise<string[]> {
  const begin = wordTerm(prefix, scope);
  // 1,000 is longer than any term. It replaces Infinity if no longer prefix has a list.
  const length = Math.min(1_000, prefixLength([...prefix].length) + begin.length - prefix.length);
  const { rows } = await sql<{ term: string }>`
    WITH RECURSIVE words AS (
      (SELECT term FROM word_blocks WHERE term >= ${begin} ORDER BY term LIMIT 1)
      UNION ALL
      SELECT following.term FROM words, LATERAL (
        SELECT term FROM word_blocks
        WHERE term > CASE WHEN char_length(words.term) < ${length}::int THEN words.term
          ELSE left(words.term, ${length}::int) || chr(1114111) END
        ORDER BY term LIMIT 1) AS following
      WHERE starts_with(words.term, ${begin})
    )
    SELECT CASE WHEN char_length(term) < ${length}::int THEN term
      ELSE ${PREFIX_MARK} || left(term, ${length}::int) END AS term
    FROM words WHERE starts_with(term, ${begin}) LIMIT ${MAX_TERMS_OF_PREFIX}::int`.execute(db);
  return rows.map(({ term }) => term);
}

/** Reads the next `count` blocks of each list. */
async function readNext(
  db: Database,
  lists: readonly KeyList[],
  from: number,
  count: number,
): Promise<void> {
  if (lists.length === 0) return;
  const terms = lists.map(({ term }) => term);
  for (const [i, blocks] of (await readNextBlocks(db, terms, from, count)).entries()) {
    lists[i]?.addNextBlocks(from, blocks, count);
  }
}

/** Reads the blocks that can contain one of the keys and were not read yet. */
async function readContaining(
  db: Database,
  lists: readonly KeyList[],
  keys: readonly number[],
): Promise<void> {
  const missing = lists.filter((list) => keys.some((key) => !list.hasRead(key)));
  if (missing.length === 0) return;
  const unreadKeys = keys.filter((key) => missing.some((list) => !list.hasRead(key)));
  const terms = missing.map(({ term }) => term);
  for (const [i, blocks] of (await readBlocksOfKeys(db, terms, unreadKeys)).entries()) {
    missing[i]?.addBlocksOf(unreadKeys, blocks);
  }
}

/** Returns lists that together contain every match: those of the part with the fewest keys. */
function rarestLists(pattern: ListPattern, position: number): KeyList[] {
  if (pattern instanceof KeyList) return [pattern];
  if ('anyOf' in pattern) return pattern.anyOf.flatMap((part) => rarestLists(part, position));
  const parts = pattern.allOf.map((part) => rarestLists(part, position));
  const densities = parts.map((lists) => lists.reduce((sum, list) => sum + list.density, 0));
  return parts[densities.indexOf(Math.min(...densities))] as KeyList[];
}

function unionOf(lists: readonly KeyList[], from: number, before: number): number[] {
  const [first, ...others] = lists;
  if (!first) return [];
  const keys = first.keysBetween(from, before);
  if (others.length === 0) return keys;
  const union = new Set(keys);
  for (const list of others) for (const key of list.keysBetween(from, before)) union.add(key);
  return [...union].sort((a, b) => a - b);
}

function matches(pattern: ListPattern, key: number): boolean {
  if (pattern instanceof KeyList) return pattern.has(key);
  if ('allOf' in pattern) return pattern.allOf.every((part) => matches(part, key));
  return pattern.anyOf.some((part) => matches(part, key));
}
