import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { removeDiscardedAvatars } from '../../server/avatars/discarded-avatars.ts';
import { type AvatarStore, newAvatarName } from '../../server/avatars/store.ts';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { changeAvatar } from '../../server/profile/avatar.ts';
import { avatarFile } from '../support/avatar.ts';
import { failingEngine } from '../support/failing-engine.ts';

let dataDir: string;
let engine: Engine;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'discarded-'));
  engine = await openDatabase({ dataDir }, { runsMaintenance: false });
});
afterEach(async () => {
  await engine.close();
  await rm(dataDir, { recursive: true });
});

/** Adds discarded avatars that are due for removal. Returns their names. */
async function discardAvatars(count: number): Promise<string[]> {
  const names = Array.from({ length: count }, newAvatarName);
  for (const avatar of names) {
    const values = { avatar, remove_after: '2026-01-01T00:00:00.000Z' };
    await engine.db.insertInto('discarded_avatars').values(values).execute();
  }
  return names;
}

async function listDiscarded(): Promise<string[]> {
  const rows = await engine.db.selectFrom('discarded_avatars').select('avatar').execute();
  return rows.map(({ avatar }) => avatar);
}

describe('removeDiscardedAvatars', () => {
  test('removes the other avatars if one cannot be removed, and reports an error', async () => {
    const names = await discardAvatars(1_200);
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
    expect(new Set(await listDiscarded())).toEqual(undeletable);

    undeletable.clear();
    await removeDiscardedAvatars(engine, avatars);
    expect(await listDiscarded()).toEqual([]);
  });

  test('stops after some slow failures, so that other housekeeping does not wait', async () => {
    await discardAvatars(100);
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
    expect(await listDiscarded()).toHaveLength(100);
  });
});

test('changeAvatar throws the first error, although it cannot discard the new avatar either', async () => {
  let failures = 0;
  const failure = {
    get error() {
      return new Error(`failure ${++failures}`);
    },
    // The query that records the name of the new avatar succeeds.
    after: 1,
  };
  const avatars = { async put() {} } as Partial<AvatarStore> as AvatarStore;
  const resources = { engine: failingEngine(engine, () => failure), avatars };
  const file = new Uint8Array(await (await avatarFile()).arrayBuffer());
  const changing = changeAvatar(
    resources,
    { userPk: 1, userId: 'ada', sessionPk: 1, scopes: null },
    file,
  );
  await expect(changing).rejects.toThrow('failure 1');
  expect(failures).toBe(2);
});
