import { type Kysely, sql } from 'kysely';
import { distinctSkeleton, usernameKey, usernameSkeleton } from '../text/username-keys.ts';

const BATCH_SIZE = 1_000;

interface Row {
  pk: number;
  user_id: string;
  username: string;
  username_key: string;
  username_skeleton: string;
}

/**
 * Stores the keys that the current rules give to usernames. If two existing usernames now have the same key or look
 * alike, both stay valid: one of them keeps its old key, and gets a skeleton with its user id.
 *
 * A migration for every change of the rules. It may run on every earlier schema, so it uses only columns that all of
 * them have.
 */
export async function recomputeUsernameKeys(db: Kysely<unknown>): Promise<void> {
  const changed = await findChangedRows(db);
  // First all of them get unique skeletons, because a new one can equal the old one of another changed row.
  for (const { pk, user_id } of changed) {
    await set(db, pk, 'username_skeleton', distinctSkeleton('', user_id));
  }
  for (const { pk, user_id, username } of changed) {
    const key = usernameKey(username);
    if (!(await isTaken(db, pk, 'username_key', key))) await set(db, pk, 'username_key', key);
    const skeleton = usernameSkeleton(username);
    const isAmbiguous = await isTaken(db, pk, 'username_skeleton', skeleton);
    const distinct = isAmbiguous ? distinctSkeleton(skeleton, user_id) : skeleton;
    await set(db, pk, 'username_skeleton', distinct);
  }
}

async function findChangedRows(db: Kysely<unknown>): Promise<Row[]> {
  const changed: Row[] = [];
  for (let lastPk = 0; ; ) {
    // Deleted accounts whose rows are still being erased have keys without a username.
    const { rows } = await sql<Row>`
      SELECT pk, user_id, username, username_key, username_skeleton FROM users
      WHERE pk > ${lastPk} AND pk NOT IN (SELECT user_pk FROM erased_users)
      ORDER BY pk LIMIT ${BATCH_SIZE}`.execute(db);
    const last = rows.at(-1);
    if (!last) return changed;
    lastPk = last.pk;
    changed.push(
      ...rows.filter(
        ({ username, username_key, username_skeleton }) =>
          usernameKey(username) !== username_key ||
          usernameSkeleton(username) !== username_skeleton,
      ),
    );
  }
}

type Column = 'username_key' | 'username_skeleton';

async function isTaken(
  db: Kysely<unknown>,
  pk: number,
  column: Column,
  value: string,
): Promise<boolean> {
  const { rows } = await sql`
    SELECT pk FROM users WHERE ${sql.ref(column)} = ${value} AND pk <> ${pk}`.execute(db);
  return rows.length > 0;
}

async function set(db: Kysely<unknown>, pk: number, column: Column, value: string): Promise<void> {
  await sql`UPDATE users SET ${sql.ref(column)} = ${value} WHERE pk = ${pk}`.execute(db);
}
