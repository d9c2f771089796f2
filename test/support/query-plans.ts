import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { TestProject } from 'vitest/node';
import { parse } from 'yaml';
import { openSqlite } from '../../server/database/sqlite/engine.ts';
import { isWholeRun } from './coverage.ts';
import { STATEMENTS_FOLDER, type Statement } from './statements.ts';

/** The content of `test/query-plans.yaml`: reasons by table, and by origin and plan step. */
export interface Justifications {
  small_tables: Record<string, string>;
  exceptions: Record<string, Record<string, string>>;
}

/** Vitest calls this before all tests, and the returned teardown function after them. */
export default function setup({ vitest }: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'statements-'));
  process.env[STATEMENTS_FOLDER] = folder;
  return async () => {
    try {
      const statements = readdirSync(folder).flatMap((file) =>
        readFileSync(join(folder, file), 'utf8')
          .trim()
          .split('\n')
          .map((line): Statement => JSON.parse(line)),
      );
      if (statements.length === 0) return;
      const database = join(folder, 'plans.sqlite');
      await (await openSqlite(database, { runsMaintenance: false })).close();
      const text = readFileSync(new URL('../query-plans.yaml', import.meta.url), 'utf8');
      const errors = checkPlans(database, statements, parse(text), isWholeRun(vitest));
      // Vitest prints the error after the summary of the tests, which does not count it.
      if (errors.length > 0) {
        throw new Error(
          `The check of the query plans after the tests failed:\n\n${errors.join('\n\n')}`,
        );
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
}

/**
 * Returns an error message for each plan step that reads or sorts a whole large table without a justification.
 * @param isComplete whether these are all statements of the service; then unused justifications are errors, too
 */
export function checkPlans(
  database: string,
  statements: readonly Statement[],
  { small_tables, exceptions }: Justifications,
  isComplete: boolean,
): string[] {
  const sqlite = new Sqlite(database, { readonly: true });
  try {
    const tables = sqlite
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .pluck()
      .all() as string[];
    const largeTables = new Set(tables.filter((name) => !Object.hasOwn(small_tables, name)));
    const errors = Object.keys(small_tables)
      .filter((name) => !tables.includes(name))
      .map((name) => `Remove ${name} from test/query-plans.yaml: there is no such table.`);

    const needed = new Set<string>();
    const reported = new Set<string>();
    for (const { sql, origin } of [...statements, ...triggerStatements(sqlite)]) {
      for (const step of expensiveSteps(sqlite, sql, largeTables)) {
        const id = `${origin}: ${step}`;
        needed.add(id);
        if (exceptions[origin]?.[step] !== undefined || reported.has(id)) continue;
        reported.add(id);
        errors.push(
          `${origin} reads or sorts a whole large table: ${step}\n  ${sql.trim().slice(0, 1_000)}\n` +
            'Add an index in a new migration, or justify the step in test/query-plans.yaml. SQLite uses a partial ' +
            'index only if the statement contains its condition as a literal (sql.lit), not as a parameter.',
        );
      }
    }

    for (const [origin, steps] of Object.entries(isComplete ? exceptions : {})) {
      for (const step of Object.keys(steps).filter((each) => !needed.has(`${origin}: ${each}`))) {
        errors.push(
          `Remove "${step}" of ${origin} from test/query-plans.yaml: no statement has this step.`,
        );
      }
    }
    return errors;
  } finally {
    sqlite.close();
  }
}

/** Returns the statements of all triggers. The plan of the statement that fires a trigger does not include them. */
function triggerStatements(sqlite: Sqlite.Database): Statement[] {
  const triggers = sqlite
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all() as { name: string; sql: string }[];
  return triggers.flatMap(({ name, sql }) => {
    const body = /\bBEGIN\b(.*)\bEND\b/s.exec(sql)?.[1] ?? '';
    return body
      .split(';')
      .filter((statement) => statement.trim() !== '')
      .map((statement) => ({
        sql: statement.replaceAll(/\b(?:NEW|OLD)\.\w+/gi, '?'),
        origin: `The trigger ${name}`,
      }));
  });
}

function expensiveSteps(
  sqlite: Sqlite.Database,
  sql: string,
  largeTables: ReadonlySet<string>,
): string[] {
  if (!/^\s*(?:select|insert|replace|update|delete|with)\b/i.test(sql)) return [];
  // Deleting all rows needs no plan.
  if (/^\s*delete from "?\w+"?\s*$/i.test(sql)) return [];
  const parameters = Array(sql.split('?').length - 1).fill(null);
  const plan = sqlite.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(parameters) as { detail: string }[];
  const steps = plan.map(({ detail }) => detail);
  const isOnLargeTable = (step: string) => {
    const name = /^(?:SCAN|SEARCH) (\w+)/.exec(step)?.[1];
    return name !== undefined && namesOf(name, sql).some((each) => largeTables.has(each));
  };
  const expensive = steps.filter((step) => {
    if (step.startsWith('USE TEMP B-TREE')) return steps.some(isOnLargeTable);
    // After the colon, a virtual table lists the constraints that it uses.
    if (/ VIRTUAL TABLE INDEX \d+:./.test(step)) return false;
    // For each execution of the statement, SQLite builds an automatic index from all rows.
    return (step.startsWith('SCAN') || / AUTOMATIC /.test(step)) && isOnLargeTable(step);
  });
  // A scan of an index reads as many rows as a scan of its table, so report both alike.
  return expensive.map((step) => step.replace(/^(SCAN \w+) USING .*/, '$1'));
}

/** Returns a name in a plan and, in case it is an alias, the table names that it may stand for. */
function namesOf(name: string, sql: string): string[] {
  const originals = sql.matchAll(new RegExp(`(\\w+)"?\\s+(?:as\\s+)?"?${name}\\b`, 'gi'));
  return [name, ...[...originals].map(([, original = '']) => original)];
}
