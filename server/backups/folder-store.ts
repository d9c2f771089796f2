import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { claimStore, MARKER_NAME } from '../storage/database-marker.ts';
import { replaceFile, syncFolder } from '../system/durable-files.ts';
import type { BackupStore, Folder } from './store.ts';

/** Opens a folder for backups, and creates it if it is missing. */
export async function openBackupFolder(path: string): Promise<BackupStore> {
  const folders: Record<Folder, string> = { top: path, avatars: join(path, 'avatars') };
  await mkdir(folders.avatars, { recursive: true, mode: 0o700 });
  await syncFolder(path);

  const write = async (folder: Folder, name: string, fill: (path: string) => Promise<void>) => {
    const file = join(folders[folder], name);
    const temporaryFile = `${file}.part`;
    // A killed process may have left it.
    await rm(temporaryFile, { force: true });
    await replaceFile(file, fill, { temporaryFile });
  };
  const put = (folder: Folder, name: string, bytes: Buffer) =>
    write(folder, name, (file) => writeFile(file, bytes));
  const read = async (folder: Folder, name: string) => {
    try {
      return await readFile(join(folders[folder], name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  };

  return {
    async list(folder) {
      const entries = await readdir(folders[folder], { withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    },
    read,
    put,
    putLarge: (name, fill) => write('top', name, fill),
    useLarge: (name, use) => use(join(path, name)),
    async remove(folder, name) {
      await rm(join(folders[folder], name), { force: true });
    },
    claim: (databaseId) =>
      claimStore(
        {
          description: `The backup folder ${path}`,
          content: 'backups',
          markerDescription: `the file ${join(path, MARKER_NAME)}`,
          advice: 'Use another folder.',
          read: () => read('top', MARKER_NAME),
          create: (bytes) => put('top', MARKER_NAME, bytes),
        },
        databaseId,
      ),
    isUnavailable: () => false,
  };
}
