import { type RawBuilder, sql } from 'kysely';
import type { SearchResult } from '../../generated/types.gen.ts';
import type { Engine, QueryWord, TextScope } from '../database/engine.ts';
import { prepareRead } from '../database/prepared.ts';
import { decodeCursor, encodeCursor, type Page, type PageRequest } from '../pagination.ts';
import type { Stores } from '../stores.ts';
import { correctWord } from './correction.ts';
import { resultJson, type SearchResultJson } from './results.ts';
import { matches, queryWords } from './words/query.ts';
import { titleKey } from './words/tokenize.ts';

/**
 * Results come in tiers, within each in the order of keys. A space is in the first tier that fits it: its title
 * equals the query; its title holds all words; its title and description together do.
 */
const TIERS = ['equal', 'title', 'all'] as const;

/** Maximum number of rejected candidates before a page is truncated. */
const MAX_REJECTED = 1_000;

/**
 * The start of a page: the tier, the last key before it, the revision of the walk through the pages, and the corrected
 * query, empty if it was not corrected.
 */
type Position = readonly [tier: number, after: number, revision: number, corrected: string];

interface Row {
  key: number;
  result: SearchResultJson;
}

/**
 * Finds public spaces by title and description. If nothing matches as typed, finds what the corrected query matches.
 * @param query      any text, of which the first 12 words count
 * @param revision   the current one
 * @throws DomainError `invalid_cursor`
 */
export async function searchText(
  stores: Stores,
  query: string,
  { limit, cursor }: PageRequest,
  revision: number,
): Promise<Page<SearchResultJson>> {
  const search = (text: string, from: Position) => readPage(stores, text, from, limit);
  if (cursor !== undefined) {
    const position = decodeCursor<Position>(cursor, isPosition);
    return search(position[3] || query, position);
  }
  const page = await search(query, [0, -1, revision, '']);
  if (page.items.length > 0 || page.next !== null) return page;
  const corrected = await correctQuery(stores.engine, query);
  return corrected === undefined ? page : search(corrected, [0, -1, revision, corrected]);
}

async function readPage(
  { engine, avatars }: Stores,
  query: string,
  [firstTier, firstAfter, revision, corrected]: Position,
  limit: number,
): Promise<Page<SearchResultJson>> {
  const words = queryWords(query);
  const hits: { position: Position; result: SearchResultJson }[] = [];
  const page = (next: Position | undefined) => ({
    items: hits.slice(0, limit).map(({ result }) => result),
    next: next ? encodeCursor(next) : null,
  });
  if (words.length === 0) return page(undefined);

  // The spaces with all words in the title, if this page reads all of them. Then the index need not exclude them.
  const titled = firstAfter === -1 && TIERS[firstTier] !== 'all' ? new Set<number>() : undefined;
  let rejected = 0;
  let [tier, after] = [firstTier, firstAfter];
  while (tier < TIERS.length) {
    const scope = scopeOf(tier, words, titled);
    const isMixed = scope === 'all' && titled !== undefined;
    // Reads more at once the more candidates were rejected.
    const wanted = Math.max(limit + 1 - hits.length + (isMixed ? titled.size : 0), rejected);
    const place = { after, revision, limit: wanted, avatarBaseUrl: avatars.baseUrl };
    const rows = await readTier(engine, scope, query, words, place);
    for (const row of rows) {
      after = row.key;
      if (isMixed && titled.has(row.key)) continue;
      if (!isInTier(tier, words, row)) {
        rejected += 1;
        continue;
      }
      if (scope === 'title') titled?.add(row.key);
      hits.push({ position: [tier, row.key, revision, corrected], result: row.result });
    }
    if (hits.length > limit) return page(hits[limit - 1]?.position);
    if (rejected > MAX_REJECTED) return page([tier, after, revision, corrected]);
    if (rows.length < wanted) [tier, after] = [tier + 1, -1];
  }
  return page(undefined);
}

/** What to read of a tier. */
interface Place {
  after: number;
  revision: number;
  limit: number;
  avatarBaseUrl: string;
}

const placeTypes = {
  after: 'bigint',
  revision: 'bigint',
  limit: 'bigint',
  avatarBaseUrl: 'text',
} as const;

const readEqual = prepareRead({ ...placeTypes, title: 'text' }, (_, { title, after, ...rest }) =>
  rowsOf(
    sql`(SELECT key FROM public_spaces WHERE title_key = ${title} AND key > ${after})`,
    sql`1 = 1`,
    rest,
  ),
);

const readMatches = prepareRead(
  { ...placeTypes, title: 'text', pattern: 'text' },
  ({ text }, { title, pattern, after, ...rest }) =>
    rowsOf(text.matches(pattern, after), sql`public_spaces.title_key <> ${title}`, rest),
);

function rowsOf(
  keys: RawBuilder<{ key: number }>,
  condition: RawBuilder<unknown>,
  {
    revision,
    limit,
    avatarBaseUrl,
  }: { [Name in Exclude<keyof Place, 'after'>]: RawBuilder<Place[Name]> },
): RawBuilder<Row> {
  return sql<Row>`
    SELECT hits.key, ${resultJson(avatarBaseUrl)} AS result
    FROM ${keys} AS hits
    JOIN public_spaces ON public_spaces.key = hits.key
    JOIN users ON users.pk = public_spaces.creator_pk
    WHERE ${condition} AND public_spaces.revision < ${revision}
    ORDER BY hits.key
    LIMIT ${limit}`;
}

async function readTier(
  engine: Engine,
  scope: TextScope | 'equal',
  query: string,
  words: QueryWord[],
  place: Place,
): Promise<Row[]> {
  const title = titleKey(query);
  if (scope === 'equal') return readEqual(engine, { ...place, title });
  return readMatches(engine, { ...place, title, pattern: engine.text.pattern(words, scope) });
}

function scopeOf(
  tier: number,
  words: QueryWord[],
  titled: ReadonlySet<number> | undefined,
): TextScope | 'equal' {
  const name = TIERS[tier] as (typeof TIERS)[number];
  // Words to be verified cannot be told apart by the index.
  return name === 'all' && !titled && !mustVerify(words) ? 'rest' : name;
}

/** The index knows a document's words but not the order of the characters in an unspaced run. */
function mustVerify(words: QueryWord[]): boolean {
  return words.some((word) => word.mustVerify);
}

function isInTier(tier: number, words: QueryWord[], { result }: Row): boolean {
  if (!mustVerify(words) || TIERS[tier] === 'equal') return true;
  const { title, description } = JSON.parse(result) as SearchResult;
  if (TIERS[tier] === 'title') return matches(words, title);
  return !matches(words, title) && matches(words, `${title}\n${description}`);
}

/** Returns the query with each unknown word replaced by a similar known one; undefined if that is impossible. */
async function correctQuery(engine: Engine, query: string): Promise<string | undefined> {
  const corrected: string[] = [];
  let isChanged = false;
  for (const word of queryWords(query)) {
    const isKnown = await isAnywhere(engine, word);
    const replacement = isKnown ? asTyped(word) : await correctWord(engine, word.word);
    if (replacement === undefined) return undefined;
    corrected.push(replacement);
    isChanged ||= !isKnown;
  }
  return isChanged ? corrected.join(' ') : undefined;
}

/** Returns a query for the same word, whose joined parts may still match separately. */
function asTyped({ word, anyOf: [, parts] }: QueryWord): string {
  return parts ? parts.map(({ text }) => text).join('-') : word;
}

const findAny = prepareRead(
  { pattern: 'text', after: 'bigint' },
  ({ text }, { pattern, after }) =>
    sql<{ key: number }>`SELECT key FROM ${text.matches(pattern, after)} AS hits LIMIT 1`,
);

async function isAnywhere(engine: Engine, word: QueryWord): Promise<boolean> {
  const pattern = engine.text.pattern([word], 'all');
  return (await findAny(engine, { pattern, after: -1 })).length > 0;
}

function isPosition(parts: unknown[]): parts is [number, number, number, string] {
  const [tier, after, revision, corrected] = parts;
  return (
    parts.length === 4 &&
    Number.isInteger(tier) &&
    (tier as number) >= 0 &&
    (tier as number) < TIERS.length &&
    Number.isSafeInteger(after) &&
    Number.isSafeInteger(revision) &&
    typeof corrected === 'string'
  );
}
