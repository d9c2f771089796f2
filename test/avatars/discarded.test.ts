import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { removeDiscardedAvatars } from '../../server/avatars/discarded-avatars.ts';
import { type AvatarStore, newAvatarName } from '../../server/avatars/store.ts';
import { openDatabase } from '../../server/database/open.ts';

describe('removeDiscardedAvatars', () => {
  test('removes the other avatars if one cannot be removed, and reports an error', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'discarded-'));
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => rm(dataDir, { recursive: true }));
    const engine = cleanup.use(await openDatabase({ dataDir }, { runsMaintenance: false }));
    const names = Array.from({ length: 1_200 }, newAvatarName);
    for (const avatar of names) {
      const values = { avatar, remove_after: '2026-01-01T00:00:00.000Z' };
      await engine.db.insertInto('discarded_avatars').values(values).execute();
    }
    const undeletable = new Set([names.toSorted()[0], names.toSorted()[700]]);
    const removed: string[] = [];
    const avatars = {
      async remove(name: string) {
        if (undeletable.has(name)) throw new Error('This avatar cannot be removed.');
        removed.push(name);
      },
    } as AvatarStore;
    await expect(removeDiscardedAvatars(engine, avatars)).rejects.toBeInstanceOf(AggregateError);
    expect(removed.sort()).toEqual(names.filter((each) => !undeletable.has(each)).sort());
    const remaining = await engine.db.selectFrom('discarded_avatars').select('avatar').execute();
    expect(new Set(remaining.map(({ avatar }) => avatar))).toEqual(undeletable);

    undeletable.clear();
    await removeDiscardedAvatars(engine, avatars);
    expect(await engine.db.selectFrom('discarded_avatars').selectAll().execute()).toEqual([]);
  });

  test('stops after some slow failures, so that other housekeeping does not wait', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'discarded-'));
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => rm(dataDir, { recursive: true }));
    const engine = cleanup.use(await openDatabase({ dataDir }, { runsMaintenance: false }));
    for (let i = 0; i < 100; i += 1) {
      const values = { avatar: newAvatarName(), remove_after: '2026-01-01T00:00:00.000Z' };
      await engine.db.insertInto('discarded_avatars').values(values).execute();
    }
    let attempts = 0;
    const avatars = {
      async remove() {
        attempts += 1;
        await sleep(1_000);
        throw new Error('The bucket does not respond.');
      },
    } as Partial<AvatarStore> as AvatarStore;
    await expect(removeDiscardedAvatars(engine, avatars)).rejects.toBeInstanceOf(AggregateError);
    expect(attempts).toBeLessThan(5);
    const remaining = await engine.db.selectFrom('discarded_avatars').select('avatar').execute();
    expect(remaining).toHaveLength(100);
  });
});
