import { appendFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { threadId } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';

/** Environment variable with the folder in which every thread of a test run records statements. */
export const STATEMENTS_FOLDER = 'STATEMENTS_FOLDER';

/** An SQL statement that the service executes on its database. */
export interface Statement {
  sql: string;
  /** Path of the file that executes it, such as `server/spaces/spaces.ts`. */
  origin: string;
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const self = fileURLToPath(import.meta.url).replace(root, '');

/** Kysely alone has a dozen frames between the service and SQLite. */
const STACK_TRACE_LIMIT = 100;

// Vitest preloads this module into every process of a test run, and Node.js into the threads of those processes.
const folder = process.env[STATEMENTS_FOLDER];
if (folder) recordStatements(`${folder}/${process.pid}-${threadId}`);

function recordStatements(notes: string): void {
  const recorded = new Set<string>();
  const { prepare } = Sqlite.prototype;
  Sqlite.prototype.prepare = function (this: Sqlite.Database, sql: string) {
    // Rate limits are counted in a database with a schema of its own.
    const origin = basename(this.name) === 'limits.sqlite' ? undefined : callingFile();
    const line = JSON.stringify({ sql, origin });
    if (origin !== undefined && !recorded.has(line)) {
      recorded.add(line);
      appendFileSync(notes, `${line}\n`);
    }
    return prepare.call(this, sql);
  } as typeof prepare;
}

/** The file of the service that needs the statement; undefined if a test or a migration does. */
function callingFile(): string | undefined {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = STACK_TRACE_LIMIT;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = stackTraceLimit;

  // What Kysely calls is the driver, whoever needs the statement.
  const aboveDriver = stack.slice(Math.max(0, stack.indexOf('/node_modules/kysely/')));
  const files = [...aboveDriver.matchAll(/(?:file:\/\/|[ (])(\/[^()\n]+):\d+:\d+\)?$/gm)]
    .map(([, path = '']) => path.replace(root, ''))
    .filter((path) => /^(?:server|test)\//.test(path) && path !== self);
  if (files.some((each) => each.includes('/migrations/'))) return undefined;
  // The database layer runs statements of its own only if nothing outside it needs them, as maintenance does.
  const file = files.find((each) => !each.startsWith('server/database/')) ?? files[0];
  return file?.startsWith('server/') ? file : undefined;
}
