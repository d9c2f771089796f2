import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeDiscardedAvatars } from '../../server/avatars/discarded-avatars.ts';
import { type AvatarStore, newAvatarName } from '../../server/avatars/store.ts';
import { openDatabase } from '../../server/database/open.ts';

test('A discarded avatar that cannot be removed keeps none of the others', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'discarded-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(dataDir, { recursive: true }));
  const engine = cleanup.use(await openDatabase({ dataDir }, { runsMaintenance: false }));
  const names = Array.from({ length: 1_200 }, newAvatarName);
  for (const avatar of names) {
    const values = { avatar, remove_after: '2026-01-01T00:00:00.000Z' };
    await engine.db.insertInto('discarded_avatars').values(values).execute();
  }
  const stuck = new Set([names.toSorted()[0], names.toSorted()[700]]);
  const removed: string[] = [];
  const avatars = {
    async remove(name: string) {
      if (stuck.has(name)) throw new Error('It is stuck.');
      removed.push(name);
    },
  } as AvatarStore;
  await expect(removeDiscardedAvatars(engine, avatars)).rejects.toBeInstanceOf(AggregateError);
  expect(removed.sort()).toEqual(names.filter((each) => !stuck.has(each)).sort());
  const left = await engine.db.selectFrom('discarded_avatars').select('avatar').execute();
  expect(new Set(left.map(({ avatar }) => avatar))).toEqual(stuck);

  stuck.clear();
  await removeDiscardedAvatars(engine, avatars);
  expect(await engine.db.selectFrom('discarded_avatars').selectAll().execute()).toEqual([]);
});
