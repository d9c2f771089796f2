import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, ftruncateSync, openSync, readdirSync, writeSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { openDatabase } from '../../../server/database/open.ts';
import { transact } from '../../../server/database/transaction.ts';
import { assertIndexed } from '../../support/integrity.ts';
import { type Server, startServer } from '../../support/server.ts';
import { assertSound, readData } from './soundness.ts';
import { openTraffic, type Writer } from './traffic.ts';
import { MissingRequirement, type Trial } from './trial.ts';

/** Makes the disk of a server fail. Returns a function that repairs it. */
type Damage = (server: Server) => Promise<() => Promise<void>>;

const SMALL_DISK_BYTES = 24 * 1024 * 1024;

export const disk: Trial = {
  promise:
    'While the disk is full or failing, writes return 503 and reads succeed; afterwards writes succeed again, and no write is stored partially.',
  runsOnPostgresql: false,
  async run(scale) {
    const rounds = scale === 'full' ? 5 : 1;
    const writes = scale === 'full' ? 100 : 20;
    const measured: string[] = [];
    const skipped: string[] = [];
    const runPart = async (name: string, part: () => Promise<string>) => {
      try {
        measured.push(`${name}: ${await part()}`);
      } catch (error) {
        if (error instanceof MissingRequirement) skipped.push(`${name} (${error.message})`);
        else throw new Error(`${name}: ${(error as Error).stack}`, { cause: error });
      }
    };

    await runPart('full file system', () => runOnSmallDisk('', rounds, writes));
    await runPart('full avatar folder', () => runOnSmallDisk('data/avatars', rounds, writes));
    await runPart('full database file', fillDatabaseFile);
    const failures: Record<string, string> = {
      'failing syncs': 'fsync,fdatasync:error=EIO',
      'failing writes': 'pwrite64:error=EIO',
      'occasionally failing writes and syncs': 'pwrite64,fsync,fdatasync:error=EIO:when=3+7',
    };
    for (const [name, failure] of Object.entries(failures)) {
      await runPart(name, () => runOnFailingDisk(failure, rounds, writes));
    }
    // `fillDatabaseFile` runs on every machine. Alone, it is not enough to pass the trial.
    if (measured.length === 1) throw new MissingRequirement(skipped.join('; '));
    return [...measured, ...skipped.map((each) => `not run: ${each}`)].join('; ');
  },
};

/** Runs with a subfolder on a small file system, which a ballast file fills. */
async function runOnSmallDisk(subfolder: string, rounds: number, writes: number): Promise<string> {
  await using folder = await mountSmallDisk(subfolder);
  const ballast = openSync(join(folder.path, subfolder, 'ballast'), 'w');
  let size = 0;
  const fill = () => {
    for (const length of [1 << 20, 1 << 12, 1]) {
      const bytes = Buffer.alloc(length);
      for (;;) {
        try {
          size += writeSync(ballast, bytes, 0, length, size);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          break;
        }
      }
    }
  };
  try {
    return await runRounds(join(folder.path, 'data'), rounds, writes, async () => {
      fill();
      // Immediately fills any space that the service frees.
      const timer = setInterval(fill, 10);
      return async () => {
        clearInterval(timer);
        size = 0;
        ftruncateSync(ballast, 0);
      };
    });
  } finally {
    closeSync(ballast);
  }
}

async function mountSmallDisk(subfolder: string): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'space-service-small-'));
  const place = join(path, subfolder);
  await mkdir(place, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_DISK_BYTES}`, 'tmpfs', place], {
      stdio: 'ignore',
    });
  } catch {
    await rm(path, { recursive: true });
    throw new MissingRequirement('needs permission to mount a tmpfs');
  }
  return {
    path,
    async [Symbol.asyncDispose]() {
      execFileSync('umount', [place]);
      await rm(path, { recursive: true });
    },
  };
}

/** Runs while strace makes system calls of the server fail. */
async function runOnFailingDisk(failure: string, rounds: number, writes: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-failing-'));
  try {
    return await runRounds(join(folder, 'data'), rounds, writes, async ({ child }) => {
      const tracer = await inject(failure, child.pid as number);
      return async () => {
        // If the server has crashed, strace has already exited.
        if (tracer.exitCode !== null || tracer.signalCode !== null) return;
        const exited = once(tracer, 'exit');
        tracer.kill('SIGINT');
        await exited;
      };
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Makes system calls of a running process fail until the returned strace process ends. */
async function inject(failure: string, pid: number): Promise<ChildProcess> {
  const calls = failure.split(':')[0] as string;
  const options = ['-f', '-e', `trace=${calls}`, '-e', `inject=${failure}`, '-o', '/dev/null'];
  const tracer = spawn('strace', [...options, '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const attached = new Promise<boolean>((resolve) => {
    let output = '';
    tracer.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (/attached/.test(output)) resolve(true);
    });
    tracer.on('error', () => resolve(false));
    tracer.on('exit', () => resolve(false));
  });
  if (!(await attached)) throw new MissingRequirement('needs strace and permission to attach it');
  return tracer;
}

/** In each round, writes to a server before, during and after the damage. */
async function runRounds(
  dataDir: string,
  rounds: number,
  writes: number,
  damage: Damage,
): Promise<string> {
  await using server = await startServer({ DATA_DIR: dataDir });
  const traffic = openTraffic();
  traffic.setUrl(server.url);
  const write = traffic.writer();
  const counts = { rejected: 0, acknowledged: 0, reads: 0, avatars: 0, recoveryMs: 0 };
  const assertWithLog = (condition: boolean, message: string) =>
    assert(condition, `${message}\n${server.output()}`);

  for (let round = 0; round < rounds; round += 1) {
    for (let i = 0; i < writes / 2; i += 1) {
      const { operation, status } = await write();
      assertWithLog(status !== undefined && status < 500, `${operation} returned ${status}`);
    }
    // Ensures that a user exists, because otherwise every further write is a registration.
    await write('changeBio');
    const repair = await damage(server);
    try {
      for (let i = 0; i < writes; i += 1) {
        // Every tenth write is an avatar, which also needs space in the avatar folder.
        const response = await write(i % 10 === 0 ? 'changeProfilePicture' : undefined, false);
        const { operation, status, contentType } = response;
        assertWithLog(status === 503 || Number(status) < 500, `${operation} returned ${status}`);
        if (status === 503) {
          assert.equal(contentType, 'application/problem+json');
          counts.rejected += 1;
          if (operation === 'changeProfilePicture') counts.avatars += 1;
        } else if (Number(status) < 300) counts.acknowledged += 1;
        const read = await traffic.read();
        // 403 and 404: a space may have become private, and some reads require participation.
        assertWithLog(
          read.status === 200 || read.status === 403 || read.status === 404,
          `during the failure, ${read.operation} returned ${read.status}`,
        );
        counts.reads += 1;
      }
      assertNoLeftovers(dataDir);
      traffic.ledger.check((await readData({ dataDir })).facts);
    } finally {
      await repair();
    }
    const recoveryMs = await recover(write, assertWithLog);
    counts.recoveryMs = Math.max(counts.recoveryMs, recoveryMs);
    traffic.ledger.check((await readData({ dataDir })).facts);
    await assertSound({ dataDir });
  }
  await assertIndexed(dataDir);
  assert(counts.avatars >= rounds, `only ${counts.avatars} avatars were rejected`);

  // The old process may have data in memory only, so check again after a new process has read the files.
  await server.kill();
  await using _restarted = await startServer({ DATA_DIR: dataDir });
  traffic.ledger.check((await readData({ dataDir })).facts);
  await assertSound({ dataDir });
  return `${counts.rejected} writes rejected (${counts.avatars} avatars), ${counts.acknowledged} acknowledged, ${counts.reads} reads succeeded in ${rounds} rounds, writes succeeded again after at most ${counts.recoveryMs} ms`;
}

/** Waits until writes succeed again and asserts that further writes succeed. Returns the time in milliseconds. */
async function recover(
  write: Writer,
  assertWithLog: (condition: boolean, message: string) => void,
): Promise<number> {
  const start = performance.now();
  for (;;) {
    const { operation, status } = await write(undefined, false);
    if (Number(status) < 300) break;
    const isInTime = performance.now() - start < 10_000;
    assertWithLog(isInTime, `${operation} still returns ${status} after 10 s`);
    await sleep(20);
  }
  const elapsedMs = Math.round(performance.now() - start);
  for (let i = 0; i < 10; i += 1) {
    const { operation, status } = await write();
    assertWithLog(Number(status) < 500, `${operation} returned ${status}`);
  }
  return elapsedMs;
}

/** Asserts that no temporary files remain in the avatar folder. */
function assertNoLeftovers(dataDir: string): void {
  const leftovers = readdirSync(join(dataDir, 'avatars')).filter((name) => name.endsWith('.tmp'));
  assert.deepEqual(leftovers, [], 'temporary files of avatars');
}

/** Limits the size of the database file. Asserts that transactions are rolled back, and later succeed again. */
async function fillDatabaseFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-pages-'));
  try {
    await using engine = await openDatabase({ dataDir: folder }, { runsMaintenance: false });
    const insertRows = (length: number) =>
      transact(engine, async (trx) => {
        for (const half of ['first', 'second']) {
          const avatar = `${half} ${'x'.repeat(length)} ${committed}`;
          await trx.insertInto('discarded_avatars').values({ avatar, remove_after: '' }).execute();
        }
      });
    const limit = (pages: number) =>
      transact(engine, (trx) => sql.raw(`PRAGMA max_page_count = ${pages}`).execute(trx));
    let committed = 0;
    let rejected = 0;
    await limit(1);
    for (let i = 0; i < 200; i += 1) {
      try {
        await insertRows(1000);
        committed += 1;
      } catch (error) {
        assert(engine.isUnavailable(error), String(error));
        rejected += 1;
      }
    }
    assert(rejected > 0, 'the database never became full');
    await limit(1_000_000);
    await insertRows(1000);
    const { rows } = await sql<{
      count: number;
    }>`SELECT count(*) AS count FROM discarded_avatars`.execute(engine.db);
    assert.deepEqual(rows, [{ count: 2 * (committed + 1) }]);
    return `${rejected} transactions rejected, none stored partially`;
  } finally {
    await rm(folder, { recursive: true });
  }
}
