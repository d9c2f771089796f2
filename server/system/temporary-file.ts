import { randomBytes } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Opens a new file for reading and writing. It has no name, so the system deletes it when it is closed, even if the
 * process is killed.
 * @throws the errors of the file system
 */
export async function openTemporaryFile(folder: string): Promise<FileHandle> {
  const path = join(folder, `${randomBytes(16).toString('hex')}.tmp`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}
