import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { lstat, open, realpath, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isBackup, isDataFolder } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { replaceFile } from '../system/durable-files.ts';

/** The kinds of files that commands write. */
export type OutputKind = 'backup' | 'export';

/** The beginning of every export that is not empty. */
const EXPORT_BEGINNING = '{"type":"user",';

/**
 * Writes the output file of a command. Replaces an existing file only if it is empty or earlier output of the same
 * kind, and only once the new one is complete, see `replaceFile`.
 * @param dataDir the data folder of the service, in which no output may be written
 * @throws OperatorError if the file may not be replaced or cannot be written
 */
export async function writeOutputFile(
  file: string,
  { kind, dataDir }: { kind: OutputKind; dataDir: string },
  write: (path: string) => Promise<void>,
): Promise<void> {
  try {
    await assertOutsideDataFolders(file, dataDir);
    await assertReplaceable(file, kind);
    const temporaryFile = `${file}.${randomBytes(16).toString('hex')}.part`;
    // A backup leaves this file behind if the disk is full.
    const journal = `${temporaryFile}-journal`;
    using _ = removeOnSignal([temporaryFile, journal]);
    try {
      await replaceFile(file, write, { temporaryFile });
    } finally {
      await rm(journal, { force: true });
    }
  } catch (error) {
    // The message of a failed write does not name the file.
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new OperatorError(`${file} cannot be written. ${error.message}`, { cause: error });
  }
}

/** Removes files if a signal ends the process before the disposal. */
function removeOnSignal(files: readonly string[]): Disposable {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const stopListening = () => {
    for (const signal of signals) process.off(signal, remove);
  };
  const remove = (signal: NodeJS.Signals) => {
    for (const file of files) rmSync(file, { force: true });
    stopListening();
    // Without a listener, the signal ends the process, even while a thread writes.
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.on(signal, remove);
  return { [Symbol.dispose]: stopListening };
}

/** Compares the identity of folders, because a path can lead to a folder through links and mounts. */
async function assertOutsideDataFolders(file: string, dataDir: string): Promise<void> {
  // With a database on another machine, this one may not have a data folder.
  const dataFolder = await stat(dataDir).catch(() => undefined);
  const parent = await realpath(dirname(file)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new OperatorError(
      `${file} cannot be written. The folder ${dirname(file)} does not exist.`,
    );
  });
  for (let folder = parent; ; folder = dirname(folder)) {
    const { dev, ino } = await stat(folder);
    if (dev === dataFolder?.dev && ino === dataFolder.ino) {
      throw new OperatorError(`${file} is in DATA_DIR. Choose a file outside of it.`);
    }
    if (isDataFolder(folder)) {
      throw new OperatorError(
        `${file} is in the data folder of another service. Choose a file outside of it.`,
      );
    }
    if (folder === dirname(folder)) break;
  }
}

async function assertReplaceable(file: string, kind: OutputKind): Promise<void> {
  const wal = `${file}-wal`;
  if (kind === 'backup' && (await lstat(wal).catch(() => undefined))) {
    throw new OperatorError(`${wal} exists and belongs to another database. Choose another name.`);
  }
  const existing = await lstat(file).catch(() => undefined);
  if (!existing) return;
  if (!existing.isFile()) {
    throw new OperatorError(`${file} exists and is not a regular file. Choose another name.`);
  }
  if (existing.size === 0 || (await isEarlierOutput(file, kind))) return;
  throw new OperatorError(
    `${file} exists and is not ${kind === 'backup' ? 'a backup' : 'an export'} of this service. Choose another name.`,
  );
}

async function isEarlierOutput(file: string, kind: OutputKind): Promise<boolean> {
  if (kind === 'backup') return isBackup(file);
  await using handle = await open(file, 'r');
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(EXPORT_BEGINNING.length));
  return buffer.toString('utf8', 0, bytesRead) === EXPORT_BEGINNING;
}
