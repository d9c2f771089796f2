import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Writes a file atomically and durably. The content is written to a temporary file, which is renamed to `file` once it
 * is complete and on disk. Until then, an existing file is unchanged. A crash can leave the temporary file.
 * @param write writes the temporary file at the given path, where it already exists and is empty
 * @param temporaryFile must be in the same folder, and different for concurrent writers
 * @param mode permissions of the new file; by default, only its owner can read it
 * @throws the errors of the file system and of `write`
 */
export async function replaceFile(
  file: string,
  write: (path: string) => Promise<void>,
  { temporaryFile, mode = 0o600 }: { temporaryFile: string; mode?: number },
): Promise<void> {
  // Fails if the name exists, even as a symbolic link. So the file is new and has this mode.
  await (await open(temporaryFile, 'wx', mode)).close();
  try {
    await write(temporaryFile);
    // Before the rename. Otherwise a power failure could leave an incomplete file under the new name.
    await syncPath(temporaryFile, 'r+');
    await rename(temporaryFile, file);
  } catch (error) {
    // If the removal fails as well, the first error is more useful.
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
