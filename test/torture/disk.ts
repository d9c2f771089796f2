import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, ftruncateSync, openSync, readdirSync, writeSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { openDatabase } from '../../server/database/open.ts';
import { transact } from '../../server/database/transaction.ts';
import { assertIndexed } from '../support/integrity.ts';
import { type Server, startServer } from '../support/server.ts';
import { assertSound, readDataDir } from './soundness.ts';
import { openTraffic, type Writer } from './traffic.ts';
import { CannotRun, type Trial } from './trial.ts';

/** Makes the disk fail, and answers with what mends it. */
type Damage = (server: Server) => Promise<() => Promise<void>>;

/** In bytes. */
const SMALL = 24 * 1024 * 1024;

export const disk: Trial = {
  promise:
    'While the disk is full or fails, writes are answered 503 and reads go on; afterwards so do writes, and nothing is there in part.',
  async run(scale) {
    const rounds = scale === 'full' ? 5 : 1;
    const writes = scale === 'full' ? 100 : 20;
    const measured: string[] = [];
    const skipped: string[] = [];
    const attempt = async (name: string, part: () => Promise<string>) => {
      try {
        measured.push(`${name}: ${await part()}`);
      } catch (error) {
        if (error instanceof CannotRun) skipped.push(`${name} (${error.message})`);
        else throw new Error(`${name}: ${(error as Error).stack}`, { cause: error });
      }
    };

    await attempt('full file system', () => onSmallDisk('', rounds, writes));
    await attempt('full folder of avatars', () => onSmallDisk('data/avatars', rounds, writes));
    await attempt('full database file', () => atLastPage());
    const failures: Record<string, string> = {
      'failing syncs': 'fsync,fdatasync:error=EIO',
      'failing writes': 'pwrite64:error=EIO',
      'failing writes and syncs now and then': 'pwrite64,fsync,fdatasync:error=EIO:when=3+7',
    };
    for (const [name, failure] of Object.entries(failures)) {
      await attempt(name, () => onFailingDisk(failure, rounds, writes));
    }
    if (measured.length === 1) throw new CannotRun(skipped.join('; '));
    return [...measured, ...skipped.map((each) => `not run: ${each}`)].join('; ');
  },
};

/** With this part of a folder on a file system that another file fills up. */
async function onSmallDisk(part: string, rounds: number, writes: number): Promise<string> {
  await using folder = await mountSmallDisk(part);
  const ballast = openSync(join(folder.path, part, 'ballast'), 'w');
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
    return await damage(join(folder.path, 'data'), rounds, writes, async () => {
      fill();
      // What the service itself gives back is taken at once.
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

async function mountSmallDisk(part: string): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'space-service-small-'));
  const place = join(path, part);
  await mkdir(place, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL}`, 'tmpfs', place], {
      stdio: 'ignore',
    });
  } catch {
    await rm(path, { recursive: true });
    throw new CannotRun('needs the right to mount a tmpfs');
  }
  return {
    path,
    async [Symbol.asyncDispose]() {
      execFileSync('umount', [place]);
      await rm(path, { recursive: true });
    },
  };
}

/** Where system calls of the server fail. */
async function onFailingDisk(failure: string, rounds: number, writes: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-failing-'));
  try {
    return await damage(join(folder, 'data'), rounds, writes, async ({ child }) => {
      const tracer = await inject(failure, child.pid as number);
      return async () => {
        const exited = once(tracer, 'exit');
        tracer.kill('SIGINT');
        await exited;
      };
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Lets system calls of a running process fail until strace, with which this answers, is ended. */
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
  if (!(await attached)) throw new CannotRun('needs strace, and the right to attach it');
  return tracer;
}

/** Writes to a server while the disk is as it should be, then while it is not, and again: so many times. */
async function damage(
  dataDir: string,
  rounds: number,
  writes: number,
  doDamage: Damage,
): Promise<string> {
  await using server = await startServer({ DATA_DIR: dataDir });
  const traffic = openTraffic();
  traffic.goTo(server.url);
  const write = traffic.writer();
  const counts = { refused: 0, acknowledged: 0, reads: 0, avatars: 0, recovery: 0 };
  const must = (isTrue: boolean, what: string) => assert(isTrue, `${what}\n${server.output()}`);

  for (let round = 0; round < rounds; round += 1) {
    for (let i = 0; i < writes / 2; i += 1) {
      const { operation, status } = await write();
      must(status !== undefined && status < 500, `${operation} was answered ${status}`);
    }
    // Somebody has to be there, or the damage would only ever meet those who sign up.
    await write('changeBio');
    const mend = await doDamage(server);
    try {
      for (let i = 0; i < writes; i += 1) {
        // Every tenth is an avatar, which needs room in the folder too.
        const answer = await write(i % 10 === 0 ? 'changeProfilePicture' : undefined);
        const { operation, status, contentType } = answer;
        must(status === 503 || Number(status) < 500, `${operation} was answered ${status}`);
        if (status === 503) {
          assert.equal(contentType, 'application/problem+json');
          counts.refused += 1;
          if (operation === 'changeProfilePicture') counts.avatars += 1;
        } else if (Number(status) < 300) counts.acknowledged += 1;
        const read = await traffic.read();
        // A space may have become private, and only participants may read some of it.
        must(
          read.status === 200 || read.status === 403 || read.status === 404,
          `meanwhile, ${read.operation} was answered ${read.status}`,
        );
        counts.reads += 1;
      }
      assertNoLeftovers(dataDir);
      traffic.ledger.check(readDataDir(dataDir).facts);
    } finally {
      await mend();
    }
    counts.recovery = Math.max(counts.recovery, await recover(write, must));
    traffic.ledger.check(readDataDir(dataDir).facts);
    await assertSound(dataDir);
  }
  await assertIndexed(dataDir);
  assert(counts.avatars >= rounds, `only ${counts.avatars} avatars were refused`);

  // What could not be synced may be no more than a rumour: what holds is what a new process reads.
  await server.kill();
  await using again = await startServer({ DATA_DIR: dataDir });
  assert(again.url);
  traffic.ledger.check(readDataDir(dataDir).facts);
  await assertSound(dataDir);
  return `${counts.refused} writes refused (${counts.avatars} avatars), ${counts.acknowledged} acknowledged, ${counts.reads} reads answered in ${rounds} rounds, writes again after at most ${counts.recovery} ms`;
}

/** How long it takes until writes succeed again, in milliseconds. From then on, all must. */
async function recover(
  write: Writer,
  must: (isTrue: boolean, what: string) => void,
): Promise<number> {
  const begun = performance.now();
  for (;;) {
    const { operation, status } = await write();
    if (Number(status) < 300) break;
    const isPatient = performance.now() - begun < 10_000;
    must(isPatient, `10 s later, ${operation} is answered ${status}`);
    await sleep(20);
  }
  const passed = Math.round(performance.now() - begun);
  for (let i = 0; i < 10; i += 1) {
    const { operation, status } = await write();
    must(Number(status) < 500, `${operation} was answered ${status}`);
  }
  return passed;
}

/** Nothing half-written may stay among the avatars. */
function assertNoLeftovers(dataDir: string): void {
  const leftovers = readdirSync(join(dataDir, 'avatars')).filter((name) => name.endsWith('.tmp'));
  assert.deepEqual(leftovers, [], 'temporary files of avatars');
}

/** Without a disk to fill: a database that may not grow takes nothing in part, and goes on when it may. */
async function atLastPage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-pages-'));
  try {
    await using engine = await openDatabase({ dataDir: folder }, { runsMaintenance: false });
    const note = (length: number) =>
      transact(engine.db, async (trx) => {
        for (const half of ['first', 'second']) {
          const avatar = `${half} ${'x'.repeat(length)} ${notes}`;
          await trx.insertInto('discarded_avatars').values({ avatar, remove_after: '' }).execute();
        }
      });
    const limit = (pages: number) =>
      transact(engine.db, (trx) => sql.raw(`PRAGMA max_page_count = ${pages}`).execute(trx));
    let notes = 0;
    let refused = 0;
    await limit(1);
    for (let i = 0; i < 200; i += 1) {
      try {
        await note(1000);
        notes += 1;
      } catch (error) {
        assert(engine.isUnavailable(error), String(error));
        refused += 1;
      }
    }
    assert(refused > 0, 'the database was full');
    await limit(1_000_000);
    await note(1000);
    const { rows } = await sql<{
      count: number;
    }>`SELECT count(*) AS count FROM discarded_avatars`.execute(engine.db);
    assert.deepEqual(rows, [{ count: 2 * (notes + 1) }]);
    return `${refused} transactions refused, none kept in part`;
  } finally {
    await rm(folder, { recursive: true });
  }
}
