import { type Kysely, sql } from 'kysely';
import { distinctSkeleton, usernameSkeleton } from '../../../text/username-keys.ts';

const BATCH_SIZE = 1_000;

interface Row {
  pk: number;
  user_id: string;
  username: string;
  username_skeleton: string;
}

/**
 * Recomputes the skeletons of usernames. If two existing usernames now look alike, both stay valid: one of them gets a
 * skeleton with its user id. `npm run check-usernames` lists it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const changed = await findChangedRows(db);
  // First all of them get unique values, because a new skeleton can equal the old one of another changed row.
  for (const { pk, user_id } of changed) await setSkeleton(db, pk, distinctSkeleton('', user_id));
  for (const { pk, user_id, username } of changed) {
    const skeleton = usernameSkeleton(username);
    const { rows } = await sql`SELECT pk FROM users WHERE username_skeleton = ${skeleton}`.execute(
      db,
    );
    const isTaken = rows.length > 0;
    await setSkeleton(db, pk, isTaken ? distinctSkeleton(skeleton, user_id) : skeleton);
  }
}

async function findChangedRows(db: Kysely<unknown>): Promise<Row[]> {
  const changed: Row[] = [];
  for (let lastPk = 0; ; ) {
    const { rows } = await sql<Row>`
      SELECT pk, user_id, username, username_skeleton FROM users
      WHERE pk > ${lastPk} ORDER BY pk LIMIT ${BATCH_SIZE}`.execute(db);
    const last = rows.at(-1);
    if (!last) return changed;
    lastPk = last.pk;
    changed.push(...rows.filter((row) => usernameSkeleton(row.username) !== row.username_skeleton));
  }
}

async function setSkeleton(db: Kysely<unknown>, pk: number, skeleton: string): Promise<void> {
  await sql`UPDATE users SET username_skeleton = ${skeleton} WHERE pk = ${pk}`.execute(db);
}
