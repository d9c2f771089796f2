import type { Database } from '../../engine.ts';
import type {
  PlannedSearch,
  WordPattern,
  WordQuery,
  WordRange,
  WordReader,
  WordScope,
} from '../../word-index.ts';
import { KeyList } from './key-list.ts';
import { type ListPattern, listsOf, rarestLists, selectMatches, unionOf } from './list-pattern.ts';
import { unpackKeys } from './packed-keys.ts';
import { unpackPostings } from './postings.ts';
import {
  type ListRequest,
  type PrefixBlock,
  readBlocksOfKeys,
  readFirstBlocks,
  readNextBlocks,
} from './read-blocks.ts';
import { markWord, prefixTerm, type Term, wordTerm } from './terms.ts';

/** Number of blocks of each list that the first statement reads. */
const FIRST_BLOCKS = 2;

/** Each further statement reads eight times as many blocks of each list as the previous one, up to this number. */
const MAX_BLOCKS = 128;

/**
 * Maximum number of candidates in the first step. The maximum of a further step lies between these two numbers: as many
 * as the missing results probably need, or four times the previous maximum if none has matched yet.
 */
const FIRST_CANDIDATES = 256;
const MAX_CANDIDATES = 4_096;

/**
 * Reads posting lists in steps. The candidates of a step are keys of the rarest part of the pattern. Before they are
 * compared with the other lists, the reader fetches the missing blocks that can contain one of them.
 */
export class PostgresqlWordReader implements WordReader {
  readonly #db: Database;
  readonly #planned: readonly PlannedSearch[];
  readonly #lists = new Map<Term, KeyList>();
  /** The words of prefixes without a list. */
  readonly #prefixes = new Map<Term, ListPattern>();
  #isOpen = false;
  /** The words of documents that have changed since the last merge; undefined for those that were removed. */
  readonly #changes = new Map<number, readonly string[] | undefined>();

  constructor(db: Database, planned: readonly PlannedSearch[]) {
    this.#db = db;
    this.#planned = planned;
  }

  async find(query: WordQuery, { after, limit, within }: WordRange): Promise<number[]> {
    await this.#open({ query, after });
    const last = within?.lastKey ?? Infinity;
    const found = await this.#findInBlocks(query, after, last, limit);
    const changed = [...this.#changes].flatMap(([key, words]) =>
      words && key > after && key <= last && matchesWords(query, words) ? key : [],
    );
    if (changed.length === 0) return found;
    return [...found, ...changed].sort((a, b) => a - b).slice(0, limit);
  }

  async #findInBlocks(
    query: WordQuery,
    after: number,
    last: number,
    limit: number,
  ): Promise<number[]> {
    const pattern = this.#listPattern(query.pattern, query.scope);
    const except = (query.except ?? []).map((each) => this.#listPattern(each.pattern, each.scope));
    const lists = [...new Set([pattern, ...except].flatMap(listsOf))];
    const found: number[] = [];
    let next = after + 1;
    let blockCount = FIRST_BLOCKS;
    let maxCandidates = FIRST_CANDIDATES;
    let examined = 0;
    while (next <= last) {
      const sources = rarestLists(pattern);
      const unread = Math.min(...sources.map((list) => list.firstUnread(next)));
      if (unread === next) {
        blockCount = Math.min(8 * blockCount, MAX_BLOCKS);
        // Reads all lists, not only the sources: with this many candidates, most blocks of the other lists contain one.
        await readNext(this.#db, lists, next, blockCount);
        continue;
      }
      const before = Math.min(unread, last + 1);
      const candidates = unionOf(sources, next, before, maxCandidates);
      await readContaining(this.#db, lists, candidates);
      const matches = selectMatches(pattern, candidates);
      const excluded = new Set(except.flatMap((each) => selectMatches(each, matches)));
      for (const key of matches) {
        if (excluded.has(key) || this.#changes.has(key)) continue;
        found.push(key);
        if (found.length === limit) return found;
      }
      next = candidates.length < maxCandidates ? before : (candidates.at(-1) as number) + 1;
      if (next === Infinity) return found;
      examined += candidates.length;
      // A quarter more than the share of matches so far suggests.
      const needed =
        found.length === 0
          ? 4 * maxCandidates
          : Math.ceil((1.25 * (limit - found.length) * examined) / found.length);
      maxCandidates = Math.min(Math.max(needed, FIRST_CANDIDATES), MAX_CANDIDATES);
    }
    return found;
  }

  /** Reads the unread lists of a search and of the planned searches: the beginning of each, in one statement. */
  async #open(search: PlannedSearch): Promise<void> {
    const lists = new Map<Term, ListRequest>();
    const prefixes = new Set<Term>();
    const add = (pattern: WordPattern, scope: WordScope, from: number): void => {
      if ('allOf' in pattern) for (const part of pattern.allOf) add(part, scope, from);
      else if ('anyOf' in pattern) for (const part of pattern.anyOf) add(part, scope, from);
      else {
        const { term, isList } = termOf(pattern, scope);
        if (!isList && !this.#prefixes.has(term)) prefixes.add(term);
        if (isList && !this.#lists.has(term)) {
          lists.set(term, { term, from: Math.min(from, lists.get(term)?.from ?? from) });
        }
      }
    };
    const addAll = ({ query: { pattern, scope, except = [] }, after }: PlannedSearch) => {
      for (const each of [{ pattern, scope }, ...except]) add(each.pattern, each.scope, after + 1);
    };
    addAll(search);
    if (this.#isOpen && lists.size === 0 && prefixes.size === 0) return;
    this.#planned.forEach(addAll);
    const wanted = [...lists.values()];
    const read = await readFirstBlocks(this.#db, wanted, FIRST_BLOCKS, [...prefixes]);
    for (const [i, { term, from }] of wanted.entries()) {
      this.#list(term).addNextBlocks(from, read.lists[i] ?? [], FIRST_BLOCKS);
    }
    for (const [i, prefix] of [...prefixes].entries()) {
      this.#addPrefix(prefix, read.prefixes[i] ?? []);
    }
    // Only those of the first statement. If a merge moves them into the blocks later, their keys are skipped there.
    if (!this.#isOpen) for (const { key, words } of read.changes) this.#changes.set(key, words);
    this.#isOpen = true;
  }

  /** @param pattern a part of a query that was passed to `#open` */
  #listPattern(pattern: WordPattern, scope: WordScope): ListPattern {
    const convert = (part: WordPattern) => this.#listPattern(part, scope);
    if ('allOf' in pattern) return { allOf: pattern.allOf.map(convert) };
    if ('anyOf' in pattern) return { anyOf: pattern.anyOf.map(convert) };
    const { term, isList } = termOf(pattern, scope);
    return isList ? this.#list(term) : (this.#prefixes.get(term) as ListPattern);
  }

  #list(term: Term): KeyList {
    const list = this.#lists.get(term) ?? new KeyList(term);
    this.#lists.set(term, list);
    return list;
  }

  /** Adds a prefix as the union of its words. Only words with unread blocks get a list each. */
  #addPrefix(prefix: Term, blocks: readonly PrefixBlock[]): void {
    const keys: number[] = [];
    const lists: KeyList[] = [];
    for (const [i, { upperTerm, upperKey, postings, isAfterGap }] of blocks.entries()) {
      const previous = blocks[i - 1];
      const hasUnreadBlocks = blocks[i + 1]?.isAfterGap ?? true;
      let upperKeys: number[] = [];
      for (const { term, packed } of unpackPostings(postings)) {
        if (!term.startsWith(prefix)) continue;
        // The rest of the block's last word was skipped, so it needs a list.
        if (term === upperTerm && hasUnreadBlocks) upperKeys = unpackKeys(packed);
        // The end of the word whose blocks were skipped.
        else if (isAfterGap && term === previous?.upperTerm) {
          this.#list(term).addLastBlock(unpackKeys(packed));
        } else for (const key of unpackKeys(packed)) keys.push(key);
      }
      // The block may lack the word, because some of its documents were removed.
      if (hasUnreadBlocks && upperTerm.startsWith(prefix)) {
        const list = this.#list(upperTerm);
        list.addNextBlocks(0, [{ upper: upperKey, keys: upperKeys }], 1);
        lists.push(list);
      }
    }
    const union = new KeyList(prefix);
    union.addNextBlocks(0, [{ upper: Infinity, keys: sortKeys(keys) }], 1);
    this.#prefixes.set(prefix, lists.length === 0 ? union : { anyOf: [union, ...lists] });
  }
}

/** Returns the keys in ascending order, each once. */
function sortKeys(keys: readonly number[]): number[] {
  // A typed array, because it sorts numbers ten times as fast.
  const distinct: number[] = [];
  for (const key of Float64Array.from(keys).sort()) {
    if (key !== distinct.at(-1)) distinct.push(key);
  }
  return distinct;
}

/** Returns the term of a word or prefix, and whether it has a posting list. */
function termOf(
  { term, isPrefix }: { term: string; isPrefix: boolean },
  scope: WordScope,
): { term: Term; isList: boolean } {
  const ofWord = wordTerm(markWord(term, scope));
  const ofPrefix = isPrefix ? prefixTerm(term, scope) : ofWord;
  return { term: ofPrefix ?? ofWord, isList: ofPrefix !== undefined };
}

/** Reads the next `count` blocks of each list, beginning at its first unread key at or after `key`. */
async function readNext(
  db: Database,
  lists: readonly KeyList[],
  key: number,
  count: number,
): Promise<void> {
  const requests = lists.flatMap((list) => {
    const from = list.firstUnread(key);
    return from === Infinity ? [] : { list, term: list.term, from };
  });
  for (const [i, blocks] of (await readNextBlocks(db, requests, count)).entries()) {
    const { list, from } = requests[i] as (typeof requests)[number];
    list.addNextBlocks(from, blocks, count);
  }
}

/** Reads the blocks that can contain one of the keys. Skips the keys before the first one that a list has not read. */
async function readContaining(
  db: Database,
  lists: readonly KeyList[],
  keys: readonly number[],
): Promise<void> {
  const missing = lists
    .map((list) => ({ list, firstUnread: list.firstUnreadIndex(keys) }))
    .filter(({ firstUnread }) => firstUnread >= 0);
  if (missing.length === 0) return;
  const unread = keys.slice(Math.min(...missing.map(({ firstUnread }) => firstUnread)));
  const terms = missing.map(({ list }) => list.term);
  for (const [i, blocks] of (await readBlocksOfKeys(db, terms, unread)).entries()) {
    missing[i]?.list.addBlocksOf(unread, blocks);
  }
}

/** Whether a document with these words matches a query. */
function matchesWords(
  { pattern, scope, except = [] }: WordQuery,
  words: readonly string[],
): boolean {
  const isMatch = (each: WordPattern, of: WordScope): boolean => {
    if ('allOf' in each) return each.allOf.every((part) => isMatch(part, of));
    if ('anyOf' in each) return each.anyOf.some((part) => isMatch(part, of));
    const wanted = markWord(each.term, of);
    return each.isPrefix ? words.some((word) => word.startsWith(wanted)) : words.includes(wanted);
  };
  return isMatch(pattern, scope) && !except.some((each) => isMatch(each.pattern, each.scope));
}
