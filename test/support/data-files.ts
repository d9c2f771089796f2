import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Returns the names and contents of all files in a data folder.
 *
 * Another process reads them. When a process closes a file, it loses all its locks on it, including those of SQLite.
 * The next process that closes the database would then delete the write-ahead log. See
 * https://sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
 */
export async function readDataFolder(folder: string): Promise<{ name: string; content: Buffer }[]> {
  const copy = await mkdtemp(join(tmpdir(), 'data-files-'));
  try {
    await promisify(execFile)('cp', ['-R', `${folder}/.`, copy]);
    const entries = await readdir(copy, { recursive: true, withFileTypes: true });
    const files = entries.filter((each) => each.isFile());
    return await Promise.all(
      files.map(async ({ parentPath, name }) => ({
        name,
        content: await readFile(join(parentPath, name)),
      })),
    );
  } finally {
    await rm(copy, { recursive: true });
  }
}
