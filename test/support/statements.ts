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
  const stack = callingFiles();
  // Skip the frames of the driver, which Kysely calls for every statement.
  const driver = stack.findIndex((path) => path.includes('/node_modules/kysely/'));
  const files = stack
    .slice(Math.max(0, driver))
    .map((path) => path.replace('file://', '').replace(root, ''))
    .filter((path) => /^(?:server|test)\//.test(path) && path !== self);
  if (files.some((each) => each.includes('/migrations/'))) return undefined;
  // Only maintenance runs statements for the database layer itself. All others belong to their caller.
  const file = files.find((each) => !each.startsWith('server/database/')) ?? files[0];
  return file?.startsWith('server/') ? file : undefined;
}

/** Returns the file of each frame of the stack. */
function callingFiles(): string[] {
  const { stackTraceLimit, prepareStackTrace } = Error;
  Error.stackTraceLimit = STACK_TRACE_LIMIT;
  // Without positions, because looking them up in source maps takes several percent of the duration of a test run.
  Error.prepareStackTrace = (_, frames) => frames.map((frame) => frame.getFileName() ?? '');
  const { stack } = new Error();
  Object.assign(Error, { stackTraceLimit, prepareStackTrace });
  return stack as unknown as string[];
}
