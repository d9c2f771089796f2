import { mkdir, opendir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { claimStore, MARKER_NAME, type MarkedStore } from '../storage/database-marker.ts';
import { replaceFile, syncFolder } from '../system/durable-files.ts';
import {
  type AvatarStore,
  assertAvatarName,
  avatarUrls,
  DEFAULT_AVATAR_FILE,
  DEFAULT_AVATAR_NAME,
  isAvatarName,
  MIN_UNUSED_AGE_MS,
  newAvatarName,
} from './store.ts';

/** Minimum age of a leftover temporary file. Other processes may be writing younger ones. */
const MIN_LEFTOVER_AGE_MS = 10 * 60 * 1000;

/** Number of files in a batch of a scan, and the pause after each batch. A million files take two minutes. */
const SCAN_BATCH_SIZE = 500;
const SCAN_PAUSE_MS = 50;

/**
 * Opens an avatar store in a folder, and creates the folder if it is missing. The folder also contains the default
 * avatar, so that a web server of the folder can serve every avatar URL. Several processes may share the folder, but
 * not two databases, see `claimStore`.
 * @param databaseId see `readDatabaseId`
 * @param baseUrl absolute URL without a trailing slash, under which the folder is served
 * @throws OperatorError if the folder belongs to another database
 * @throws the file system's errors
 */
export async function openAvatarFolder(
  path: string,
  databaseId: string,
  baseUrl: string,
): Promise<AvatarStore> {
  await mkdir(path, { recursive: true });
  await syncFolder(dirname(path));
  const claim = () => claimStore(markedFolder(path), databaseId);
  await claim();
  await putDefault(path);

  return {
    ...avatarUrls(baseUrl),
    source: { folder: path },

    async put(name, bytes) {
      assertAvatarName(name);
      await write(path, name, bytes);
    },

    async remove(name) {
      assertAvatarName(name);
      try {
        await unlink(join(path, name));
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
      await syncFolder(path);
    },

    removeUnused: (findUsed, signal) => removeUnused(path, claim, findUsed, signal),

    // Any failed system call. It cannot be due to invalid arguments, because `assertAvatarName` has checked the names.
    isUnavailable: (error) => error instanceof Error && 'syscall' in error,
  };
}

function markedFolder(folder: string): MarkedStore {
  const file = join(folder, MARKER_NAME);
  return {
    description: `The avatar folder ${folder}`,
    content: 'avatars',
    markerDescription: `the file ${file}`,
    advice: 'Check DATABASE_URL and DATA_DIR.',
    async read() {
      try {
        return await readFile(file);
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    create: (bytes) => write(folder, MARKER_NAME, bytes),
  };
}

/** Writes the default avatar. Does nothing if it is up to date, so that the service also starts on a full disk. */
async function putDefault(folder: string): Promise<void> {
  const bytes = await readFile(DEFAULT_AVATAR_FILE);
  try {
    if (bytes.equals(await readFile(join(folder, DEFAULT_AVATAR_NAME)))) return;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  await write(folder, DEFAULT_AVATAR_NAME, bytes);
}

/** Writes a file atomically. Resolves once it is durable. */
async function write(folder: string, name: string, bytes: Uint8Array): Promise<void> {
  await replaceFile(join(folder, name), (path) => writeFile(path, bytes), {
    mode: 0o644,
    temporaryFile: join(folder, `${newAvatarName()}.tmp`),
  });
}

async function removeUnused(
  folder: string,
  claim: () => Promise<void>,
  findUsed: (names: string[]) => Promise<Set<string>>,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  const scanBatch = async (names: string[]) => {
    // The operator can have replaced the marker since the start.
    await claim();
    const avatars = names.filter(isAvatarName);
    const used = await findUsed(avatars);
    for (const name of avatars) {
      if (used.has(name)) continue;
      if (await removeOld(join(folder, name), MIN_UNUSED_AGE_MS)) removed += 1;
    }
    for (const name of names.filter(isLeftover)) {
      await removeOld(join(folder, name), MIN_LEFTOVER_AGE_MS);
    }
  };
  let names: string[] = [];
  for await (const { name } of await opendir(folder, { bufferSize: SCAN_BATCH_SIZE })) {
    if (signal.aborted) return removed;
    names.push(name);
    if (names.length < SCAN_BATCH_SIZE) continue;
    await scanBatch(names);
    names = [];
    await sleep(SCAN_PAUSE_MS);
  }
  await scanBatch(names);
  await syncFolder(folder);
  return removed;
}

function isLeftover(name: string): boolean {
  return name.endsWith('.webp.tmp');
}

/** Deletes a file if it is old. Returns whether it has deleted it. */
async function removeOld(file: string, minAgeMs: number): Promise<boolean> {
  try {
    if ((await stat(file)).mtimeMs >= Date.now() - minAgeMs) return false;
    await unlink(file);
    return true;
  } catch (error) {
    // Another process has renamed or deleted it.
    if (!isMissing(error)) throw error;
    return false;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
