import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { openSqlite } from '../../../server/database/sqlite/engine.ts';
import { transact } from '../../../server/database/transaction.ts';
import { startServer } from '../../support/server.ts';
import { openTraffic, type Result } from './traffic.ts';
import { MissingRequirement, type Trial } from './trial.ts';

/** A write with the times of its request and response, in milliseconds since 1970. */
interface TimedWrite extends Result {
  sentAt: number;
  receivedAt: number;
}

/** A successful system call with its file or folder. */
interface SystemCall {
  thread: string;
  name: string;
  path: string;
  /** The end of the call in milliseconds since 1970. */
  endedAt: number;
}

export const power: Trial = {
  promise:
    'Acknowledged writes survive a power failure: each is synced to disk before its response.',
  runsOnPostgresql: false,
  async run(scale) {
    await assertSettings();
    requireStrace();
    const writes = scale === 'full' ? 2000 : 150;
    const folder = await mkdtemp(join(tmpdir(), 'space-service-power-'));
    const trace = join(folder, 'trace');
    try {
      const timed = await writeTraced(trace, join(folder, 'data'), writes);
      const calls = parseTrace(await readFile(trace, 'utf8'));
      // The main thread writes first. Another thread deletes accounts and spaces, and merges indexes.
      const main = calls.find(isLogSync)?.thread;
      let syncs = 0;
      let avatars = 0;
      for (const { operation, sentAt, receivedAt } of timed) {
        const isDeletion = operation === 'deleteAccount' || operation === 'deleteSpace';
        const during = calls.filter(({ endedAt }) => endedAt >= sentAt && endedAt <= receivedAt);
        const own = during.filter(
          (call) => isLogSync(call) && (call.thread === main) !== isDeletion,
        );
        assert(own.length > 0, `${operation} responded before it was synced`);
        syncs += own.length;
        if (operation !== 'changeProfilePicture') continue;
        assertAvatarIsSyncedFirst(
          during.filter((call) => call.thread === main || !isLogSync(call)),
        );
        avatars += 1;
      }
      assert(avatars > 0, 'no write was an avatar');
      return `${timed.length} sequential acknowledged writes: the log was synced between each request and its response, ${syncs} syncs in total; ${avatars} avatars synced in the order file, folder, row; WAL, synchronous=FULL, foreign keys and secure deletion are on`;
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

/** Asserts the settings of the writing connection after a write, because SQLite may change one at the first write. */
async function assertSettings(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-settings-'));
  try {
    await using engine = await openSqlite(join(folder, 'settings.sqlite'), {
      runsMaintenance: false,
    });
    await engine.db
      .insertInto('discarded_avatars')
      .values({ avatar: 'none', remove_after: '' })
      .execute();
    const expected = { journal_mode: 'wal', synchronous: 2, foreign_keys: 1, secure_delete: 1 };
    for (const [name, value] of Object.entries(expected)) {
      const { rows } = await transact(engine, (trx) =>
        sql.raw<Record<string, unknown>>(`PRAGMA ${name}`).execute(trx),
      );
      assert.deepEqual(rows, [{ [name]: value }]);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @throws MissingRequirement */
export function requireStrace(): void {
  try {
    execFileSync('strace', ['-qq', '-e', 'trace=none', 'true'], { stdio: 'ignore' });
  } catch {
    throw new MissingRequirement('needs strace and permission to trace processes');
  }
}

/** Makes acknowledged writes, one at a time, on a server whose syncs are recorded in the trace. */
async function writeTraced(trace: string, dataDir: string, count: number): Promise<TimedWrite[]> {
  const calls = 'trace=fsync,fdatasync,rename,renameat,renameat2';
  const command = ['strace', '-f', '-qq', '-y', '-ttt', '-T', '-e', calls, '-o', trace];
  await using server = await startServer({ DATA_DIR: dataDir }, command);
  const traffic = openTraffic();
  traffic.setUrl(server.url);
  const write = traffic.writer();
  const timed: TimedWrite[] = [];
  while (timed.length < count) {
    // Separates the writes by more than the clock difference of the two processes.
    await sleep(2);
    const sentAt = Date.now();
    const result = await write();
    assert(result.status !== undefined && result.status < 500, server.output());
    if (result.status < 300 && result.isChange) {
      timed.push({ ...result, sentAt, receivedAt: Date.now() + 1 });
    }
  }
  return timed;
}

/** Returns the successful calls of an strace log. A call interrupted by another thread spans two lines. */
function parseTrace(trace: string): SystemCall[] {
  const unfinishedCalls = new Map<string, string>();
  const calls: SystemCall[] = [];
  for (const line of trace.split('\n')) {
    const [, thread = '', time = '', rest = ''] = /^(\d+) +([\d.]+) (.*)$/.exec(line) ?? [];
    const unfinished = /^(.*) <unfinished \.\.\.>$/.exec(rest)?.[1];
    if (unfinished !== undefined) {
      unfinishedCalls.set(thread, unfinished);
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)?.[1];
    const text = resumed === undefined ? rest : `${unfinishedCalls.get(thread)}${resumed}`;
    const call = /^(\w+)\((?:\d+<(.+)>|.*"(.+)")\) += 0(?: <([\d.]+)>)?$/.exec(text);
    if (!call) continue;
    const [, name = '', file, renamed, duration = '0'] = call;
    // The timestamp is the start of a call, but the end of a resumed call.
    const end = Number(time) + (resumed === undefined ? Number(duration) : 0);
    calls.push({ thread, name, path: file ?? renamed ?? '', endedAt: end * 1000 });
  }
  return calls;
}

function isLogSync({ name, path }: SystemCall): boolean {
  return /^f(?:data)?sync$/.test(name) && path.endsWith('.sqlite-wal');
}

/** Asserts that the file and then its folder entry are synced before a row refers to the avatar. */
function assertAvatarIsSyncedFirst(calls: readonly SystemCall[]): void {
  const order = calls.flatMap((call) => {
    if (isLogSync(call)) return ['row'];
    if (/^rename/.test(call.name)) return ['rename'];
    if (call.path.endsWith('.webp.tmp')) return ['file'];
    return call.path.endsWith('/avatars') ? ['folder'] : [];
  });
  // The row before the file records the name as discarded. Later calls delete earlier avatars.
  const file = order.indexOf('file');
  assert.deepEqual(order.slice(file - 1, file + 4), ['row', 'file', 'rename', 'folder', 'row']);
}
