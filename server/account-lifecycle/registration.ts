import { randomUUID } from 'node:crypto';
import { parseEmail } from '../accounts/email.ts';
import { checkNewPassword } from '../accounts/password.ts';
import { chooseUsername, usernameErrorOf } from '../accounts/username-availability.ts';
import { hashPassword } from '../auth/password-hashing.ts';
import { type OpenedSession, openSession } from '../auth/sessions.ts';
import type { Config, Quotas } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import type { NewRow } from '../database/schema.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';

/**
 * Creates an account and opens its first session.
 * @throws DomainError `registration_closed`; `username_…`, `email_…` or `password_…` if a value is invalid, reserved or
 *   taken
 */
export async function register(
  { engine, quotas }: { engine: Engine; quotas: Pick<Quotas, 'maxSessions'> },
  { isRegistrationOpen }: Pick<Config, 'isRegistrationOpen'>,
  { username, email, password }: { username: string; email: string; password: string },
): Promise<OpenedSession> {
  if (!isRegistrationOpen) {
    throw new DomainError(
      'registration_closed',
      'This server does not accept registrations. Ask its operator for an account.',
    );
  }
  const { name, key, skeleton } = await chooseUsername(engine.db, username);
  const parsedEmail = parseEmail(email);
  checkNewPassword(password, { username, email }, '/password');
  await assertEmailAvailable(engine, parsedEmail.key);
  const passwordHash = await hashPassword(password);

  const userId = randomUUID();
  const now = new Date().toISOString();
  try {
    const token = await transact(engine, async (trx) => {
      const { pk } = await trx
        .insertInto('users')
        .values({
          user_id: userId,
          username: name,
          username_key: key,
          username_skeleton: skeleton,
          email: parsedEmail.email,
          email_key: parsedEmail.key,
          password_hash: passwordHash,
          bio: '',
          avatar: null,
          is_verified: 0,
          created_at: now,
          updated_at: now,
          suspended_at: null,
        } satisfies NewRow<'users'>)
        .returning('pk')
        .executeTakeFirstOrThrow();
      return openSession(trx, pk, quotas);
    });
    return { userId, token };
  } catch (error) {
    // A concurrent registration may have taken the email address instead of the username.
    if (engine.isUniqueViolation(error)) await assertEmailAvailable(engine, parsedEmail.key);
    throw usernameErrorOf(engine, error);
  }
}

async function assertEmailAvailable(engine: Engine, key: string): Promise<void> {
  const row = await engine.db
    .selectFrom('users')
    .select('pk')
    .where('email_key', '=', key)
    .executeTakeFirst();
  if (row) {
    throw new DomainError(
      'email_taken',
      'An account with this email address already exists. Sign in, or use another address.',
      [{ pointer: '/email', message: 'is taken' }],
    );
  }
}
