import type { Config } from '../config.ts';
import { databaseKind } from '../database/open.ts';
import { type FinishedBackup, makeDueBackup } from './backup.ts';

/** What the process sends: the backup, or null if none was due. */
export type BackupMessage = { finished: FinishedBackup | null } | { failed: string };

// The service has ended without stopping this process, for example because it was killed. The copy of the database runs
// on a thread, which only a signal ends.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// Ignored, because Ctrl+C also sends signals to this process. The service kills it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

process.once('message', async (config: Config) => {
  let message: BackupMessage;
  try {
    message = { finished: (await makeDueBackup(config)) ?? null };
  } catch (error) {
    message = { failed: await explain(config, error) };
  }
  process.send?.(message, () => process.exit());
});

async function explain(config: Config, error: unknown): Promise<string> {
  const explained = (await databaseKind(config)).explainError(config, error);
  return explained instanceof Error ? explained.message : String(explained);
}
