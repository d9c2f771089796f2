import { type Kysely, sql } from 'kysely';
import { distinctSkeleton, usernameKey, usernameSkeleton } from '../text/username-keys.ts';

const BATCH_SIZE = 1_000;

interface Row {
  pk: number;
  user_id: string;
  username: string;
}

/**
 * Recomputes the keys of Greek usernames with an iota subscript. Earlier versions distinguished upper and lower case if
 * the letter had another mark. If two existing usernames are now equal, both stay valid, and one keeps its old key.
 */
export async function recomputeKeysWithIotaSubscript(db: Kysely<unknown>): Promise<void> {
  for (let lastPk = 0; ; ) {
    const { rows } = await sql<Row>`
      SELECT pk, user_id, username FROM users WHERE pk > ${lastPk} ORDER BY pk LIMIT ${BATCH_SIZE}`.execute(
      db,
    );
    const last = rows.at(-1);
    if (!last) return;
    lastPk = last.pk;
    for (const row of rows) {
      if (row.username.normalize('NFD').includes('\u0345')) await recompute(db, row);
    }
  }
}

async function recompute(db: Kysely<unknown>, { pk, user_id, username }: Row): Promise<void> {
  const key = usernameKey(username);
  const skeleton = usernameSkeleton(username);
  const isTaken = async (column: string, value: string) => {
    const { rows } = await sql`
      SELECT pk FROM users WHERE ${sql.ref(column)} = ${value} AND pk <> ${pk}`.execute(db);
    return rows.length > 0;
  };
  if (!(await isTaken('username_key', key))) {
    await sql`UPDATE users SET username_key = ${key} WHERE pk = ${pk}`.execute(db);
  }
  const newSkeleton = (await isTaken('username_skeleton', skeleton))
    ? distinctSkeleton(skeleton, user_id)
    : skeleton;
  await sql`UPDATE users SET username_skeleton = ${newSkeleton} WHERE pk = ${pk}`.execute(db);
}
