import { lstat } from 'node:fs/promises';
import { OperatorError } from '../errors.ts';
import { replaceFile } from '../system/durable-files.ts';

/**
 * Writes a file that the operator has named, and replaces an existing one when it is complete. See `replaceFile`.
 * @throws OperatorError if the name belongs to something else, such as a folder, a symbolic link or a device
 */
export async function writeOutputFile(
  file: string,
  write: (path: string) => Promise<void>,
): Promise<void> {
  const existing = await lstat(file).catch(() => undefined);
  if (existing && !existing.isFile()) {
    throw new OperatorError(`${file} exists and is not a regular file. Choose another name.`);
  }
  await replaceFile(file, write);
}
