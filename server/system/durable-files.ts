import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Writes a file atomically and durably. The content goes to a temporary file, which is renamed to `file` once it is
 * complete and on disk. Until then, an existing file stays as it is. A crash leaves at most the temporary file behind.
 * @param write writes the temporary file at the given path, where it already exists and is empty
 * @param mode permissions of the new file; by default, only its owner can read it
 * @param temporaryFile must be in the same folder; each of several concurrent writers needs one of its own
 * @throws the file system's errors, and what `write` throws
 */
export async function replaceFile(
  file: string,
  write: (path: string) => Promise<void>,
  { mode = 0o600, temporaryFile = `${file}.part` }: { mode?: number; temporaryFile?: string } = {},
): Promise<void> {
  try {
    await (await open(temporaryFile, 'w', mode)).close();
    await write(temporaryFile);
    // Before the rename, or a power failure could leave the new name with missing content.
    await syncPath(temporaryFile, 'r+');
    await rename(temporaryFile, file);
  } catch (error) {
    // If the removal fails as well, the first error is the one to report.
    await rm(temporaryFile, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(file));
}

/** Makes created, renamed and deleted names in a folder durable. Windows has no such operation and does not need it. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform !== 'win32') await syncPath(path, 'r');
}

async function syncPath(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
