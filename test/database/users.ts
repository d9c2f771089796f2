import type { Database } from '../../server/database/engine.ts';

/** Returns a row of `users`. All unique columns are derived from the name. */
export function userRow(name: string) {
  return {
    user_id: name,
    username: name,
    username_key: name,
    username_skeleton: name,
    email: name,
    email_key: name,
    password_hash: null,
    bio: '',
    avatar: null,
    is_verified: 0,
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
  };
}

export async function insertUser(db: Database, name: string): Promise<void> {
  await db.insertInto('users').values(userRow(name)).execute();
}

/** @returns the session's primary key */
export async function insertSession(db: Database, userPk: number): Promise<number> {
  const time = '2026-01-01T00:00:00.000Z';
  const { pk } = await db
    .insertInto('sessions')
    .values({
      session_id: 'none',
      token_hash: 'none',
      user_pk: userPk,
      created_at: time,
      last_used_at: time,
      device_name: null,
    })
    .returning('pk')
    .executeTakeFirstOrThrow();
  return pk;
}

/** Returns the usernames in the order of insertion. */
export async function usernames(db: Database): Promise<string[]> {
  const rows = await db.selectFrom('users').select('username').orderBy('pk').execute();
  return rows.map(({ username }) => username);
}
