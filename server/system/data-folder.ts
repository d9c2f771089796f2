import { mkdir } from 'node:fs/promises';
import { OperatorError } from '../errors.ts';

/**
 * Creates the data folder with its parents, if it is missing.
 * @throws OperatorError if it cannot be created
 */
export async function createDataFolder(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true });
  } catch (error) {
    throw new OperatorError(`DATA_DIR=${dataDir} ${explain(error as NodeJS.ErrnoException)}`, {
      cause: error,
    });
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
