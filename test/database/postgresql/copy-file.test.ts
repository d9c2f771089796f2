import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  findCopy,
  prepareCopy,
} from '../../../server/database/postgresql/search-copy/copy-file.ts';

test('Processes that find a damaged copy of the search index at the same time create one together', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-copy-file-'));
  await writeFile(join(folder, 'damaged.sqlite'), 'damaged');
  const created: (string | undefined)[] = [];
  const prepare = async (onReplace: () => void) => {
    await prepareCopy(folder, 1, onReplace);
    created.push(findCopy(folder));
  };
  let second: Promise<void> | undefined;
  await prepare(() => {
    second = prepare(() => {});
  });
  await second;
  expect(created).toEqual([expect.stringContaining('.sqlite'), created[0]]);
  expect(findCopy(folder)).toBe(created[0]);
  await rm(folder, { recursive: true });
});
