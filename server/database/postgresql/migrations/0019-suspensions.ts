import { type Kysely, sql } from 'kysely';

const statements = [
  'DROP TRIGGER user_changes ON users',
  `CREATE TRIGGER user_changes AFTER UPDATE OF username, avatar, suspended_at OR DELETE ON users
    FOR EACH ROW EXECUTE FUNCTION record_user_change()`,
];

/** Records suspensions as changes of the user, so that the log needs no row for each of the user's spaces. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
