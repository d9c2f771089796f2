import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  findCopy,
  prepareCopy,
} from '../../../server/database/postgresql/search-copy/copy-file.ts';

test('Of two processes that find a damaged copy of the search index, one replaces it, and both use its successor', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-copy-file-'));
  await writeFile(join(folder, 'damaged.sqlite'), 'damaged');
  const replaced: string[] = [];
  let other: Promise<void> | undefined;
  await prepareCopy(folder, 1, () => {
    replaced.push('by the first');
    other = prepareCopy(folder, 1, () => replaced.push('by the other'));
  });
  const created = findCopy(folder);
  await other;
  expect(replaced).toEqual(['by the first']);
  expect(findCopy(folder)).toBe(created);
  await rm(folder, { recursive: true });
});
