import type { Kysely } from 'kysely';
import { expect } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { recomputeKeysWithIotaSubscript } from '../../server/database/username-keys.ts';
import {
  distinctSkeleton,
  usernameKey,
  usernameSkeleton,
} from '../../server/text/username-keys.ts';
import { userRow } from './users.ts';

// Capital eta with a circumflex, which has no composed form, and the same letter in lower case.
const CAPITAL = '\u1FCC\u0342';
const SMALL = '\u1FC7';

/**
 * Adds users with keys that earlier versions stored, and recomputes them.
 * @param skeletons stored skeletons by username; by default, placeholders that no username has
 */
async function recompute(
  engine: Engine,
  usernames: string[],
  skeletons: Record<string, string> = {},
) {
  for (const [i, username] of usernames.entries()) {
    const username_skeleton = skeletons[username] ?? `skeleton ${i}`;
    const keys = { username_key: `key ${i}`, username_skeleton };
    const row = { ...userRow(`u${i}`), username, ...keys };
    await engine.db.insertInto('users').values(row).execute();
  }
  await recomputeKeysWithIotaSubscript(engine.db as unknown as Kysely<unknown>);
  return engine.db
    .selectFrom('users')
    .select(['username_key as key', 'username_skeleton as skeleton'])
    .orderBy('pk')
    .execute();
}

/**
 * Expects that an upgrade recomputes the keys of usernames with an iota subscript, except a taken key, and makes a
 * taken skeleton distinct.
 */
export async function expectRecomputedKeys(engine: Engine): Promise<void> {
  const fillers = Array.from({ length: 1_500 }, (_, i) => `user ${i}`);
  const taken = usernameSkeleton(`${SMALL}β`);
  const usernames = [CAPITAL, ...fillers, SMALL, `${SMALL}α`, `${SMALL}β`];
  const rows = await recompute(engine, usernames, { 'user 5': taken });
  const key = usernameKey(CAPITAL);
  const skeleton = usernameSkeleton(CAPITAL);
  expect(rows[0]).toEqual({ key, skeleton });
  expect(rows[1]).toEqual({ key: 'key 1', skeleton: 'skeleton 1' });
  expect(rows[1_501]).toEqual({ key: 'key 1501', skeleton: usernameSkeleton(SMALL) });
  expect(rows[1_502]).toEqual({
    key: usernameKey(`${SMALL}α`),
    skeleton: usernameSkeleton(`${SMALL}α`),
  });
  expect(rows[1_503]).toEqual({
    key: usernameKey(`${SMALL}β`),
    skeleton: distinctSkeleton(taken, 'u1503'),
  });
}
