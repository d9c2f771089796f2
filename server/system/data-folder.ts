import { existsSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { OperatorError } from '../errors.ts';

/**
 * Creates the data folder with its parents, if it is missing.
 * @throws OperatorError if it cannot be created
 */
export async function createDataFolder(dataDir: string): Promise<void> {
  try {
    await createFolder(dataDir);
  } catch (error) {
    throw new OperatorError(`DATA_DIR=${dataDir} ${explain(error as NodeJS.ErrnoException)}`, {
      cause: error,
    });
  }
}

/** Unlike `mkdir` with `recursive`, also ends on file systems without new folders, such as `/proc`. */
async function createFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isFolder = code !== 'ENOENT' && (await stat(path).catch(() => undefined))?.isDirectory();
    if (isFolder) return;
    if (code !== 'ENOENT' || existsSync(dirname(path))) throw error;
    await createFolder(dirname(path));
    await createFolder(path);
  }
}

function explain({ code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'EEXIST':
      return 'is not a folder. Set it to a folder.';
    case 'EACCES':
    case 'EPERM':
      return 'cannot be created (permission denied). Create the folder and give this user write access.';
    default:
      return `cannot be created. Set it to another folder. ${message}`;
  }
}
