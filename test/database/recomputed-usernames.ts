import type { Kysely } from 'kysely';
import { expect } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { recomputeUsernameKeys } from '../../server/database/recompute-usernames.ts';
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
 * Expects that an upgrade recomputes keys of usernames that differ from the current rules, except a taken key, makes a
 * taken skeleton distinct, and leaves deleted accounts as they are.
 */
export async function expectRecomputedKeys(engine: Engine): Promise<void> {
  const fillers = Array.from({ length: 1_500 }, (_, i) => `user ${i}`);
  const old = [CAPITAL, SMALL, 'modem', 'modern', 'deleted'];
  for (const username of [...fillers, ...old]) {
    const keys = old.includes(username)
      ? { username_key: `key of ${username}`, username_skeleton: `skeleton of ${username}` }
      : { username_key: usernameKey(username), username_skeleton: usernameSkeleton(username) };
    await engine.db
      .insertInto('users')
      .values({ ...userRow(username), ...keys })
      .execute();
  }
  await engine.db
    .insertInto('erased_users')
    .columns(['user_pk'])
    .expression((from) => from.selectFrom('users').select('pk').where('username', '=', 'deleted'))
    .execute();

  await recomputeUsernameKeys(engine.db as unknown as Kysely<unknown>);

  const keysOf = (username: string) =>
    engine.db
      .selectFrom('users')
      .select(['username_key as key', 'username_skeleton as skeleton'])
      .where('username', '=', username)
      .executeTakeFirst();
  const current = (username: string) => ({
    key: usernameKey(username),
    skeleton: usernameSkeleton(username),
  });
  expect(await keysOf('user 1499')).toEqual(current('user 1499'));
  expect(await keysOf(CAPITAL)).toEqual(current(CAPITAL));
  expect(await keysOf(SMALL)).toEqual({ ...current(SMALL), key: `key of ${SMALL}` });
  expect(await keysOf('modem')).toEqual(current('modem'));
  expect(await keysOf('modern')).toEqual({
    key: usernameKey('modern'),
    skeleton: distinctSkeleton(usernameSkeleton('modern'), 'modern'),
  });
  expect(await keysOf('deleted')).toEqual({
    key: 'key of deleted',
    skeleton: 'skeleton of deleted',
  });
}
