import { type Kysely, sql } from 'kysely';

/** Adds the queues of deletions that take several transactions, and the counters of the quotas per hour and day. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `CREATE TABLE erased_users (
    user_pk INTEGER PRIMARY KEY REFERENCES users ON DELETE CASCADE
  ) STRICT`,
  `CREATE TABLE erased_spaces (
    space_pk INTEGER PRIMARY KEY REFERENCES spaces ON DELETE CASCADE,
    key INTEGER
  ) STRICT`,
  'CREATE INDEX erased_spaces_by_key ON erased_spaces (key) WHERE key IS NOT NULL',
  `CREATE TABLE spaces_to_move (
    space_pk INTEGER PRIMARY KEY REFERENCES spaces ON DELETE CASCADE
  ) STRICT`,
  `CREATE TABLE action_counts (
    user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    action TEXT NOT NULL,
    hour_began_at TEXT NOT NULL,
    hour_count INTEGER NOT NULL,
    day_began_at TEXT NOT NULL,
    day_count INTEGER NOT NULL,
    PRIMARY KEY (user_pk, action)
  ) STRICT, WITHOUT ROWID`,
];
