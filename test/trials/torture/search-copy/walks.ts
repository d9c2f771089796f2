import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import * as api from '../../../../generated/sdk.gen.ts';
import { restoreAccount, suspendAccount } from '../../../../server/account-lifecycle/suspension.ts';
import type { Engine } from '../../../../server/database/engine.ts';
import type { TestUser } from '../../../support/client.ts';
import { draw } from '../../../support/drawing.ts';
import { itemsOf, nextPage } from '../../../support/pages.ts';
import { createSpace, joinSpace, leaveSpace } from '../../../support/spaces.ts';
import { runTogether } from '../together.ts';
import type { Send } from './searches.ts';

const SPACES = 60;

/** On a busy machine, few requests that change something end while lists are read. */
const MIN_CHANGES = 20;

const LISTS = ['/api/spaces/search?q=atlas', '/api/spaces?tag=atlas', '/api/spaces?sort=newest'];

interface Place {
  space_id: string;
  /** Odd while it is being changed. */
  version: number;
  isPublic: boolean;
}

/**
 * Reads lists to their end, each page from another machine, while spaces are edited, moved, hidden, deleted and
 * restored. No list may repeat a space, or miss one that was public and did not change meanwhile.
 * @param users   their spaces change: those of the first one in requests, those of the last one by its suspension. The
 *   second one joins and leaves spaces.
 * @param walks   minimum number of lists that are read
 * @param walkers number of lists that are read at the same time
 * @returns the number of changes and of pages
 */
export async function checkWalks(
  [creator, guest, suspended]: readonly [TestUser, TestUser, TestUser],
  engine: Engine,
  servers: readonly Send[],
  walks: number,
  walkers: number,
): Promise<{ changes: number; pages: number }> {
  const create = async (user: TestUser, number: number): Promise<Place> => {
    const { space_id } = await createSpace(user, { title: `Atlas ${number}`, tags: ['atlas'] });
    return { space_id, version: 0, isPublic: true };
  };
  const places: Place[] = [];
  // A third is never changed, a third is changed in requests, and a third by a suspension.
  for (let i = 0; i < SPACES; i += 1)
    places.push(await create(i % 3 === 2 ? suspended : creator, i));
  const edited = places.filter((_, i) => i % 3 === 1);
  const hidden = places.filter((_, i) => i % 3 === 2);
  const counts = { changes: 0, pages: 0 };
  let isDone = false;
  let started = 0;

  const changing = async (
    changed: readonly Place[],
    isPublic: boolean,
    work: () => Promise<unknown>,
  ) => {
    for (const place of changed) place.version += 1;
    await work();
    for (const place of changed) Object.assign(place, { version: place.version + 1, isPublic });
    counts.changes += 1;
    // Otherwise, the changes would take most of the processor time.
    await sleep(20);
  };
  const edit = async () => {
    for (let i = 0; !isDone; i += 1) {
      const place = draw(edited);
      const { client } = creator;
      const path = { space_id: place.space_id };
      const update = (body: Parameters<typeof api.updateSpace>[0]['body']) => () =>
        api.updateSpace({ client, path, body, throwOnError: true });
      const step = i % 5;
      if (step === 0) await changing([place], true, update({ description: `Edit ${i}` }));
      if (step === 1) await changing([place], true, () => joinSpace(guest, place));
      if (step === 2) await changing([place], true, () => leaveSpace(guest, place));
      if (step === 3) {
        await changing([place], false, update({ visibility: 'private' }));
        await changing([place], true, update({ visibility: 'public' }));
      }
      if (step === 4) {
        await changing([place], false, () => api.deleteSpace({ client, path, throwOnError: true }));
        const successor = await create(creator, i);
        places.splice(places.indexOf(place), 1, successor);
        edited.splice(edited.indexOf(place), 1, successor);
      }
    }
  };
  const suspend = async () => {
    while (!isDone) {
      await changing(hidden, false, () => suspendAccount(engine, suspended.userId));
      await changing(hidden, true, () => restoreAccount(engine, suspended.userId));
    }
  };
  const walk = async () => {
    while (!isDone && (started < walks || counts.changes < MIN_CHANGES)) {
      started += 1;
      const list = LISTS[started % LISTS.length] as string;
      const before = places.map((place) => ({ place, ...place }));
      const found: string[] = [];
      let path: string | undefined = `${list}&limit=${8 + Math.floor(Math.random() * 20)}`;
      for (let page = started; path; page += 1) {
        const response = await (servers[page % servers.length] as Send)(path);
        if (!response.ok) assert.fail(`${response.status} for ${path}: ${await response.text()}`);
        const items = itemsOf<{ space_id: string }>(await response.json());
        found.push(...items.map((each) => each.space_id));
        path = nextPage(response);
        counts.pages += 1;
      }
      const ids = new Set(found);
      assert.equal(ids.size, found.length, `${list} repeats a space`);
      const unchanged = before.filter(
        ({ place, version, isPublic }) =>
          isPublic && version % 2 === 0 && place.version === version,
      );
      const missed = unchanged.filter(({ space_id }) => !ids.has(space_id));
      assert.deepEqual(missed, [], `${list} misses spaces that have not changed`);
    }
  };

  const walking = Promise.all(Array.from({ length: walkers }, walk));
  await runTogether([walking, edit(), suspend()], () => {
    isDone = true;
  });
  return counts;
}
