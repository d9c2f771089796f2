import { randomUUID } from 'node:crypto';
import { parseEmail } from '../accounts/email.ts';
import { checkNewPassword } from '../accounts/password.ts';
import { parseUsername } from '../accounts/username.ts';
import { assertUsernameAvailable, usernameTaken } from '../accounts/username-availability.ts';
import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { hashPassword } from './password-hashing.ts';
import { openSession } from './sessions.ts';

/** A new session. Its token is not stored, so it can be shown only now. */
export interface OpenedSession {
  userId: string;
  token: string;
}

/**
 * Creates an account and opens its first session.
 * @throws DomainError for a username, address or password that is invalid or taken
 */
export async function register(
  engine: Engine,
  { username, email, password }: { username: string; email: string; password: string },
): Promise<OpenedSession> {
  await assertUsernameAvailable(engine.db, username);
  const name = parseUsername(username);
  const address = parseEmail(email);
  checkNewPassword(password, { username, email }, '/password');
  await assertEmailAvailable(engine, address.key);
  const passwordHash = await hashPassword(password);

  const userId = randomUUID();
  const now = new Date().toISOString();
  try {
    const token = await transact(engine.db, async (trx) => {
      const { pk } = await trx
        .insertInto('users')
        .values({
          user_id: userId,
          username: name.name,
          username_key: name.key,
          username_skeleton: name.skeleton,
          email: address.email,
          email_key: address.key,
          password_hash: passwordHash,
          bio: '',
          avatar: null,
          is_verified: 0,
          created_at: now,
          updated_at: now,
        })
        .returning('pk')
        .executeTakeFirstOrThrow();
      return openSession(trx, pk);
    });
    return { userId, token };
  } catch (error) {
    if (!engine.isUniqueViolation(error)) throw error;
    // A concurrent registration has taken the address or the name.
    await assertEmailAvailable(engine, address.key);
    throw usernameTaken();
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
