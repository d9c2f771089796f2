import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import pg from 'pg';

/**
 * Maximum number of statements whose runs are counted. Only these can have a name, and each connection caches the plans
 * of named statements.
 */
const MAX_COUNTED_STATEMENTS = 500;

/** How often each statement has run in this process, and its name once it has one. */
const statements = new LRUCache<string, { runs: number; name?: string }>({
  max: MAX_COUNTED_STATEMENTS,
});

/** A statement gets a name at this run, because most statements with a list of values run only once. */
const NAMED_AT_RUN = 3;

/** Names statements that run often, so that PostgreSQL plans them only once for each connection. */
export class NamingClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `query` have no common type
  override query(...args: any[]): any {
    // The pool passes a callback, Kysely awaits a promise.
    const [text, values, callback] = args;
    if (typeof text !== 'string' || !Array.isArray(values)) {
      return super.query(...(args as [string]));
    }
    const name = nameOf(text);
    return super.query(name === undefined ? { text, values } : { name, text, values }, callback);
  }
}

/** Counts a run of a statement. Returns the statement's name; undefined before its run number `NAMED_AT_RUN`. */
function nameOf(text: string): string | undefined {
  const statement = statements.get(text) ?? { runs: 0 };
  statement.runs += 1;
  if (statement.runs === NAMED_AT_RUN) statement.name = nameFrom(text);
  statements.set(text, statement);
  return statement.name;
}

/**
 * A hash instead of a number. Behind a connection pooler, a connection can have statements of other processes, and a
 * number could name a different statement.
 */
function nameFrom(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
