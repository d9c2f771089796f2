import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** The search is tuned on the queries of `tune` only. Those of `judge` show whether it is overfitted. See README.md. */
export const HALVES = ['tune', 'judge'] as const;
export type Half = (typeof HALVES)[number];

/** A query with its acceptable answers. */
export interface Query {
  text: string;
  /** The kind of difficulty, such as a typo. */
  class: string;
  half: Half;
  /** Titles of spaces. The query is a hit if one of them is among the first results. */
  answers: readonly string[];
}

export const QUERIES_FILE = fileURLToPath(new URL('queries.yaml', import.meta.url));

/**
 * Returns the queries of a file: YAML mappings of classes to halves, of halves to queries, and of queries to answers.
 * @throws Error if an entry is malformed or a query appears twice
 */
export function readQueries(file = QUERIES_FILE): Query[] {
  const classes: Record<string, Record<string, Record<string, unknown>>> = parse(
    readFileSync(file, 'utf8'),
  );
  const queries = Object.entries(classes).flatMap(([name, halves]) =>
    Object.entries(halves).flatMap(([half, entries]) =>
      Object.entries(entries).map(([text, answers]) => parseQuery(name, half, text, answers)),
    ),
  );
  const texts = new Set<string>();
  for (const { text } of queries) {
    if (texts.has(text)) throw new Error(`The query ${text} appears twice.`);
    texts.add(text);
  }
  return queries;
}

function parseQuery(className: string, half: string, text: string, answers: unknown): Query {
  const isQuery =
    HALVES.includes(half as Half) &&
    Array.isArray(answers) &&
    answers.length > 0 &&
    answers.every((answer) => typeof answer === 'string') &&
    new Set(answers).size === answers.length;
  if (!isQuery) throw new Error(`Malformed query in class ${className}, ${half}: ${text}`);
  return { text, class: className, half: half as Half, answers };
}
