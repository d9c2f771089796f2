import { lstat } from 'node:fs/promises';
import { OperatorError } from '../errors.ts';
import { replaceFile } from '../system/durable-files.ts';

/**
 * Writes the output file of a command. Replaces an existing file only once the new one is complete, see `replaceFile`.
 * @throws OperatorError if the path exists and is not a regular file, such as a folder, a symbolic link or a device
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
