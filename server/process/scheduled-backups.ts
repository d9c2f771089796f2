import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { FastifyBaseLogger } from 'fastify';
import type { BackupMessage } from '../backups/backup-entry.ts';
import { openBackupStore } from '../backups/open.ts';
import { periodOf } from '../backups/retention.ts';
import type { BackupStore } from '../backups/store.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { readDatabaseId } from '../database/secrets.ts';
import { OperatorError } from '../errors.ts';
import { recordBackupFailure } from '../system/last-backup.ts';

const CHECK_INTERVAL_MS = 60_000;

const RETRY_DELAY_MS = 30 * 60_000;

/**
 * Makes a backup in each period of `BACKUPS`, in a process of its own, because copies take processor time and memory. A
 * failed one is logged and repeated later. Only the process that runs maintenance may call this, and after it has locked
 * the data folder.
 * @throws OperatorError if the folder or bucket of backups cannot be used
 */
export async function scheduleBackups(
  config: Config,
  engine: Engine,
  log: FastifyBaseLogger,
): Promise<Disposable> {
  const [shortest] = config.backups;
  if (!shortest) {
    await recordBackupFailure(config.dataDir, null);
    return { [Symbol.dispose]() {} };
  }
  await assertUsable(config, engine, log);

  const stopping = new AbortController();
  let handledPeriod: string | undefined;
  let nextAttemptAt = 0;
  let isRunning = false;
  const check = async () => {
    const period = periodOf(new Date(), shortest.period);
    if (isRunning || period === handledPeriod || performance.now() < nextAttemptAt) return;
    isRunning = true;
    const startedAt = performance.now();
    try {
      const finished = await runBackupProcess(config, stopping.signal);
      const milliseconds = Math.round(performance.now() - startedAt);
      if (finished) log.info({ ...finished, milliseconds }, 'made a backup');
      handledPeriod = period;
      await recordBackupFailure(config.dataDir, null);
    } catch (err) {
      if (stopping.signal.aborted) return;
      nextAttemptAt = performance.now() + RETRY_DELAY_MS;
      log.error({ err }, 'the scheduled backup failed and will be repeated in 30 minutes');
      await recordBackupFailure(config.dataDir, (err as Error).message).catch((error) =>
        log.error({ err: error }, 'the metrics do not show that the backup failed'),
      );
    } finally {
      isRunning = false;
    }
  };
  const timer = setInterval(check, CHECK_INTERVAL_MS).unref();
  void check();
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      stopping.abort();
    },
  };
}

/** A wrong setting prevents the start. An unavailable storage does not, because everything else works without it. */
async function assertUsable(config: Config, engine: Engine, log: FastifyBaseLogger): Promise<void> {
  let store: BackupStore | undefined;
  try {
    store = await openBackupStore(config);
    await store?.list('top');
    await store?.claim(await readDatabaseId(engine));
  } catch (error) {
    if (store?.isUnavailable(error)) log.warn({ err: error }, 'backups fail until it is available');
    else if (error instanceof OperatorError) throw error;
    else {
      throw new OperatorError(
        `${(error as Error).message} Check BACKUPS_FOLDER, or BACKUPS_BUCKET, BACKUPS_ENDPOINT and the settings of the AWS SDK.`,
      );
    }
  }
}

/** @returns null if no backup was due */
async function runBackupProcess(config: Config, signal: AbortSignal) {
  const child = fork(new URL('../backups/backup-entry.ts', import.meta.url), [], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // It leaves an incomplete file, which the next one replaces.
    killSignal: 'SIGKILL',
    signal,
  });
  let message: BackupMessage | undefined;
  child.on('message', (received: BackupMessage) => {
    message = received;
  });
  child.send(config, () => {});
  const [code, killedBy] = await once(child, 'close');
  if (message && 'finished' in message) return message.finished;
  throw new Error(message?.failed ?? `The process of the backup ended: ${killedBy ?? code}`);
}
