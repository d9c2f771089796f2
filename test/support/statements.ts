import { appendFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { threadId } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';

/** Environment variable: the folder in which every thread of a test run records the statements it has prepared. */
export const STATEMENTS_FOLDER = 'STATEMENTS_FOLDER';

/** An SQL statement that the service executes on its database. */
export interface Statement {
  sql: string;
  /** Path of the file that executes it, such as `server/spaces/spaces.ts`. */
  origin: string;
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const self = fileURLToPath(import.meta.url).replace(root, '');

/** The default of 10 is too low: Kysely alone adds a dozen frames between the service and SQLite. */
const STACK_TRACE_LIMIT = 100;

// Vitest preloads this module into every process of a test run, and Node.js into the threads of those processes.
const folder = process.env[STATEMENTS_FOLDER];
if (folder) recordStatements(`${folder}/${process.pid}-${threadId}`);

function recordStatements(file: string): void {
  const recorded = new Set<string>();
  const { prepare } = Sqlite.prototype;
  Sqlite.prototype.prepare = function (this: Sqlite.Database, sql: string) {
    // The rate-limit counters are in another database with its own schema.
    const origin = basename(this.name) === 'limits.sqlite' ? undefined : callingFile();
    const line = JSON.stringify({ sql, origin });
    if (origin !== undefined && !recorded.has(line)) {
      recorded.add(line);
      appendFileSync(file, `${line}\n`);
    }
    return prepare.call(this, sql);
  } as typeof prepare;
}

/** Returns the file of the service that executes the statement; undefined for a test or a migration. */
function callingFile(): string | undefined {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = STACK_TRACE_LIMIT;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = stackTraceLimit;

  // Skip the frames of the driver, which Kysely calls for every statement.
  const aboveDriver = stack.slice(Math.max(0, stack.indexOf('/node_modules/kysely/')));
  const files = [...aboveDriver.matchAll(/(?:file:\/\/|[ (])(\/[^()\n]+):\d+:\d+\)?$/gm)]
    .map(([, path = '']) => path.replace(root, ''))
    .filter((path) => /^(?:server|test)\//.test(path) && path !== self);
  if (files.some((each) => each.includes('/migrations/'))) return undefined;
  // Only maintenance runs statements for the database layer itself. All others belong to their caller.
  const file = files.find((each) => !each.startsWith('server/database/')) ?? files[0];
  return file?.startsWith('server/') ? file : undefined;
}
