import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { openSqlite } from '../../server/database/sqlite/open.ts';
import { transact } from '../../server/database/transaction.ts';
import { startServer } from '../support/server.ts';
import { type Answer, openTraffic } from './traffic.ts';
import { CannotRun, type Trial } from './trial.ts';

/** When it was sent and answered, in milliseconds since 1970. */
interface TimedWrite extends Answer {
  sent: number;
  answered: number;
}

/** A system call that succeeded, with the file or folder it was about. */
interface Call {
  thread: string;
  name: string;
  path: string;
  /** When it had ended, in milliseconds since 1970. */
  at: number;
}

export const power: Trial = {
  promise:
    'Acknowledged writes survive a loss of power: each is synced to the disk before its answer.',
  async run(scale) {
    await assertSettings();
    requireStrace();
    const writes = scale === 'full' ? 2000 : 150;
    const folder = await mkdtemp(join(tmpdir(), 'space-service-power-'));
    const trace = join(folder, 'trace');
    try {
      const timed = await writeTraced(trace, join(folder, 'data'), writes);
      const calls = parseTrace(await readFile(trace, 'utf8'));
      // The first to write is the thread that answers requests. Another one erases, and merges indexes now and then.
      const main = calls.find(isLogSync)?.thread;
      let syncs = 0;
      let avatars = 0;
      for (const { operation, sent, answered } of timed) {
        const isErasure = operation === 'deleteAccount' || operation === 'deleteSpace';
        const during = calls.filter(({ at }) => at >= sent && at <= answered);
        const own = during.filter(
          (call) => isLogSync(call) && (call.thread === main) !== isErasure,
        );
        assert(own.length > 0, `${operation} was answered before it was synced`);
        syncs += own.length;
        if (operation !== 'changeProfilePicture') continue;
        assertAvatarComesFirst(during.filter((call) => call.thread === main || !isLogSync(call)));
        avatars += 1;
      }
      assert(avatars > 0, 'avatars were among the writes');
      return `${timed.length} acknowledged writes, one after another: each had the log synced between request and answer, ${syncs} syncs in all; ${avatars} avatars: file, then folder, then row; WAL, synchronous=FULL, foreign keys and secure deletion on`;
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

/** The settings that durability rests on, on the connection that writes: SQLite may change one with the first write. */
async function assertSettings(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-settings-'));
  try {
    await using engine = await openSqlite(join(folder, 'settings.sqlite'), {
      runsMaintenance: false,
      migrate: true,
    });
    await engine.db
      .insertInto('discarded_avatars')
      .values({ avatar: 'none', remove_after: '' })
      .execute();
    const expected = { journal_mode: 'wal', synchronous: 2, foreign_keys: 1, secure_delete: 1 };
    for (const [name, value] of Object.entries(expected)) {
      const { rows } = await transact(engine.db, (trx) =>
        sql.raw<Record<string, unknown>>(`PRAGMA ${name}`).execute(trx),
      );
      assert.deepEqual(rows, [{ [name]: value }]);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

function requireStrace(): void {
  try {
    execFileSync('strace', ['-qq', '-e', 'trace=none', 'true'], { stdio: 'ignore' });
  } catch {
    throw new CannotRun('needs strace, and the right to trace processes');
  }
}

/** Does so many acknowledged writes, one at a time, on a server whose syncs go into the trace. */
async function writeTraced(trace: string, dataDir: string, count: number): Promise<TimedWrite[]> {
  const calls = 'trace=fsync,fdatasync,rename,renameat,renameat2';
  const command = ['strace', '-f', '-qq', '-y', '-ttt', '-T', '-e', calls, '-o', trace];
  await using server = await startServer({ DATA_DIR: dataDir }, command);
  const traffic = openTraffic();
  traffic.goTo(server.url);
  const write = traffic.writer();
  const timed: TimedWrite[] = [];
  while (timed.length < count) {
    // A pause, so that the clocks of two processes cannot take one write's sync for the next one's.
    await sleep(2);
    const sent = Date.now();
    const answer = await write();
    assert(answer.status !== undefined && answer.status < 500, server.output());
    if (answer.status < 300 && answer.isChange)
      timed.push({ ...answer, sent, answered: Date.now() + 1 });
  }
  return timed;
}

/** What strace wrote: the calls that succeeded. One that another thread interrupts takes two lines. */
function parseTrace(trace: string): Call[] {
  const begun = new Map<string, string>();
  const calls: Call[] = [];
  for (const line of trace.split('\n')) {
    const [, thread = '', time = '', rest = ''] = /^(\d+) +([\d.]+) (.*)$/.exec(line) ?? [];
    const unfinished = /^(.*) <unfinished \.\.\.>$/.exec(rest)?.[1];
    if (unfinished !== undefined) {
      begun.set(thread, unfinished);
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)?.[1];
    const text = resumed === undefined ? rest : `${begun.get(thread)}${resumed}`;
    const call = /^(\w+)\((?:\d+<(.+)>|.*"(.+)")\) += 0(?: <([\d.]+)>)?$/.exec(text);
    if (!call) continue;
    const [, name = '', file, renamed, lasted = '0'] = call;
    // A line bears the time at which the call began, or at which it was resumed: that is its end.
    const end = Number(time) + (resumed === undefined ? Number(lasted) : 0);
    calls.push({ thread, name, path: file ?? renamed ?? '', at: end * 1000 });
  }
  return calls;
}

function isLogSync({ name, path }: Call): boolean {
  return /^f(?:data)?sync$/.test(name) && path.endsWith('.sqlite-wal');
}

/** A row may name an avatar only once the file, and then its name in the folder, cannot get lost. */
function assertAvatarComesFirst(calls: readonly Call[]): void {
  const order = calls.flatMap((call) => {
    if (isLogSync(call)) return ['row'];
    if (/^rename/.test(call.name)) return ['rename'];
    if (call.path.endsWith('.webp.tmp')) return ['file'];
    return call.path.endsWith('/avatars') ? ['folder'] : [];
  });
  // The row before notes the file before it exists. All else is the removal of earlier avatars, which nobody waits for.
  const file = order.indexOf('file');
  assert.deepEqual(order.slice(file - 1, file + 4), ['row', 'file', 'rename', 'folder', 'row']);
}
