import { lstat, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { OperatorError } from '../errors.ts';

/**
 * Has a file made beside its place, readable for its owner alone, and puts it there once it is whole and on disk: what
 * was there before stays until then, and for good if this fails.
 * @param make writes the file at the path that it is given, which may be there already, and then is empty
 * @throws OperatorError if something other than a file is in its place, or the file system's errors
 */
export async function replaceFile(
  file: string,
  make: (path: string) => Promise<void>,
): Promise<void> {
  const before = await lstat(file).catch(() => undefined);
  if (before && !before.isFile()) throw new OperatorError(`${file} is there, and is no file.`);
  const part = `${file}.part`;
  try {
    await (await open(part, 'w', 0o600)).close();
    await make(part);
    await sync(part, 'r+');
    await rename(part, file);
    await syncFolder(dirname(file));
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** Makes names that appeared or vanished durable. Windows has no such call and needs none. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform !== 'win32') await sync(path, 'r');
}

async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
