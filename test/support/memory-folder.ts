import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';

/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';

/** Containers often have only 64 MB. The log of PostgreSQL takes up to 1 GB. */
const MIN_FREE_BYTES = 3_000_000_000;

/**
 * Keeps the temporary files of all tests in memory, if possible. On a disk, each commit of a test database waits for
 * it, which takes a third of the duration of a test run. Vitest calls this before all tests, and the returned function
 * after them.
 */
export default function setup(): (() => void) | undefined {
  if (!existsSync(MEMORY)) return undefined;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < MIN_FREE_BYTES) return undefined;
  const folder = mkdtempSync(`${MEMORY}/space-service-tests-`);
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true });
}
