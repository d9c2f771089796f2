import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns what the first group of the pattern matches in a file, such as a lock file. */
export function pinnedVersion(folder: string, file: string, pattern: RegExp): string {
  const version = pattern.exec(readFileSync(join(folder, file), 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${join(folder, file)} does not match ${pattern}.`);
  return version;
}
