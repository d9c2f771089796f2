import type { Schema } from '../server/contract.ts';

/** Receives a breaking change with its location and remedy. */
export type Report = (location: string, change: string, remedy: string) => void;

export interface SchemaComparison {
  /** Clients send values of the schema in requests, and receive them in responses. */
  direction: 'request' | 'response';
  /** Resolves a `$ref` in the contract before the change. */
  resolveBefore: (schema: Schema) => Schema;
  /** Resolves a `$ref` in the contract after the change. */
  resolveAfter: (schema: Schema) => Schema;
  report: Report;
}

/** Whether a schema allows fewer values than before, more values, or different ones. */
type Effect = 'narrower' | 'wider' | 'incomparable';

/** Keywords that do not restrict values. */
const ANNOTATIONS = /^(title|description|examples?|externalDocs|deprecated|xml|x-.*)$/;

const COMPOSITIONS = ['allOf', 'anyOf', 'oneOf'];

const COMPARED_SEPARATELY = [
  ...COMPOSITIONS,
  'properties',
  'required',
  'items',
  'additionalProperties',
  'default',
];

const REMEDIES = {
  request: 'Accept every value that the released contract accepts.',
  response: 'Return only values that the released contract declares.',
};

/**
 * Reports the changes from `before` to `after` that break clients. A request schema must not allow fewer values, and a
 * response schema must not allow more. Clients ignore unknown response fields, so added fields are compatible.
 * @param location the position of the schema in the request or response; replaced by the name of a named schema
 * @param visited pairs of references that are being compared, which stops the recursion at recursive schemas
 */
export function compareSchemas(
  before: Schema,
  after: Schema,
  comparison: SchemaComparison,
  location: string,
  visited: readonly string[] = [],
): void {
  const pair = `${before.$ref} ${after.$ref}`;
  if (visited.includes(pair)) return;
  const visitedHere = before.$ref && after.$ref ? [...visited, pair] : visited;
  const place = after.$ref?.split('/').at(-1) ?? location;
  const compare = (old: Schema, now: Schema, at: string) =>
    compareSchemas(old, now, comparison, at, visitedHere);

  const old = comparison.resolveBefore(before);
  const now = comparison.resolveAfter(after);
  compareKeywords(old, now, comparison, place);
  compareProblemStatuses(old, now, comparison, place);
  compareRequired(old, now, comparison, place);
  for (const [name, field] of Object.entries(old.properties ?? {})) {
    const fieldNow = now.properties?.[name];
    if (fieldNow) compare(field, fieldNow, `${place}.${name}`);
    else comparison.report(`${place}.${name}`, 'was removed', 'Keep the field.');
  }
  if (old.items || now.items) compare(old.items ?? {}, now.items ?? {}, `${place}[]`);

  compareExtraFields(old, now, comparison, place, compare);

  for (const keyword of COMPOSITIONS) {
    const parts = (old[keyword] ?? []) as Schema[];
    const partsNow = (now[keyword] ?? []) as Schema[];
    if (parts.length !== partsNow.length) {
      const change = `has ${partsNow.length} schemas in ${keyword} instead of ${parts.length}`;
      comparison.report(place, change, `Keep the schemas of ${keyword}.`);
      continue;
    }
    for (const [i, part] of parts.entries()) compare(part, partsNow[i] as Schema, place);
  }
}

/** Compares the schemas of fields that `properties` does not list. */
function compareExtraFields(
  { additionalProperties: old = true }: Schema,
  { additionalProperties: now = true }: Schema,
  { direction, report }: SchemaComparison,
  place: string,
  compare: (old: Schema, now: Schema, at: string) => void,
): void {
  if (old === now || old === false) return;
  if (now !== false) compare(old === true ? {} : old, now === true ? {} : now, `${place}.*`);
  else if (direction === 'request') {
    report(place, 'rejects unknown fields now', 'Accept unknown fields.');
  }
}

function compareRequired(
  old: Schema,
  now: Schema,
  { direction, report }: SchemaComparison,
  place: string,
): void {
  const { required = [] } = old;
  const { required: requiredNow = [] } = now;
  if (direction === 'request') {
    for (const name of requiredNow.filter((each) => !required.includes(each))) {
      const isNew = old.properties?.[name] === undefined;
      const change = isNew ? 'was added as a required field' : 'is required now';
      report(`${place}.${name}`, change, 'Make the field optional.');
    }
  } else {
    for (const name of required.filter((each) => !requiredNow.includes(each))) {
      // A removed field is reported as such.
      if (now.properties?.[name] === undefined) continue;
      report(`${place}.${name}`, 'is no longer required', 'Always return the field.');
    }
  }
}

/** Compares the list of all problem codes, which annotates a schema. */
function compareProblemStatuses(
  old: Schema,
  now: Schema,
  { report }: SchemaComparison,
  place: string,
): void {
  const statuses = Object.entries<number>(old['x-problem-statuses'] ?? {});
  for (const [code, status] of statuses) {
    const statusNow = now['x-problem-statuses']?.[code];
    if (statusNow === status) continue;
    const change = statusNow
      ? `returns ${code} with ${statusNow} instead of ${status}`
      : `no longer lists ${code}`;
    report(place, change, 'Keep the code with its status: clients handle it.');
  }
}

function compareKeywords(
  old: Schema,
  now: Schema,
  { direction, report }: SchemaComparison,
  place: string,
): void {
  const compatible: Effect = direction === 'request' ? 'wider' : 'narrower';
  for (const keyword of new Set([...Object.keys(old), ...Object.keys(now)])) {
    if (COMPARED_SEPARATELY.includes(keyword) || ANNOTATIONS.test(keyword)) continue;
    const effect = effectOf(keyword, old[keyword], now[keyword]);
    const isOtherType = keyword === 'format' && old.type === 'integer' && now.type === 'integer';
    if (effect === undefined || (effect === compatible && !isOtherType)) continue;
    const remedy = isOtherType
      ? 'Keep the format: it is the type of a number in clients.'
      : REMEDIES[direction];
    report(place, describeChange(keyword, old[keyword], now[keyword]), remedy);
  }
  // Clients that omit the value rely on its default.
  if (direction === 'request' && old.default !== undefined && !isEqual(old.default, now.default)) {
    report(place, describeChange('default', old.default, now.default), 'Keep the default.');
  }
}

/** Returns undefined if the keyword allows the same values as before. */
function effectOf(keyword: string, old: unknown, now: unknown): Effect | undefined {
  if (isEqual(old, now)) return undefined;
  if (keyword === 'nullable') {
    if (Boolean(old) === Boolean(now)) return undefined;
    return now ? 'wider' : 'narrower';
  }
  // Any other keyword restricts values unless it is missing or, like `uniqueItems`, false.
  const isRestricted = old !== undefined && old !== false;
  const isRestrictedNow = now !== undefined && now !== false;
  if (!isRestricted) return isRestrictedNow ? 'narrower' : undefined;
  if (!isRestrictedNow) return 'wider';

  if (keyword === 'enum') return effectOfEnum(old as unknown[], now as unknown[]);
  if (keyword === 'type' && old === 'number' && now === 'integer') return 'narrower';
  if (keyword === 'type' && old === 'integer' && now === 'number') return 'wider';
  const isRaised = Number(now) > Number(old);
  if (keyword.startsWith('max')) return isRaised ? 'wider' : 'narrower';
  if (keyword.startsWith('min')) return isRaised ? 'narrower' : 'wider';
  return 'incomparable';
}

function effectOfEnum(old: unknown[], now: unknown[]): Effect | undefined {
  const isRemoved = !old.every((value) => now.includes(value));
  const isAdded = !now.every((value) => old.includes(value));
  if (isRemoved && isAdded) return 'incomparable';
  if (isRemoved) return 'narrower';
  return isAdded ? 'wider' : undefined;
}

function isEqual(old: unknown, now: unknown): boolean {
  return JSON.stringify(old) === JSON.stringify(now);
}

function describeChange(keyword: string, old: unknown, now: unknown): string {
  if (old === undefined) return `has ${keyword} ${JSON.stringify(now)} now`;
  if (now === undefined) return `no longer has ${keyword} ${JSON.stringify(old)}`;
  return `changed ${keyword} from ${JSON.stringify(old)} to ${JSON.stringify(now)}`;
}
