import { randomUUID } from 'node:crypto';
import type { Registration } from '../../generated/types.gen.ts';
import { assertEmailAvailable, parseEmail } from '../accounts/email.ts';
import { checkNewPassword } from '../accounts/password.ts';
import { parseUsername } from '../accounts/username.ts';
import { assertUsernameAvailable, usernameErrorOf } from '../accounts/username-availability.ts';
import { parseDeviceName } from '../auth/device-name.ts';
import { hashPassword } from '../auth/password-hashing.ts';
import { type OpenedSession, openSession } from '../auth/sessions.ts';
import type { Config, Quotas } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { enqueueMail } from '../mail/outbox.ts';

/**
 * Creates an account and opens its first session. Sends a link to verify its email address.
 * @param language of the mail
 * @throws DomainError `registration_closed`; `username_…`, `email_…` or `password_…` if a value is invalid, reserved or
 *   taken; `invalid_request` if several are invalid
 */
export async function register(
  { engine, quotas }: { engine: Engine; quotas: Pick<Quotas, 'maxSessions'> },
  config: Pick<Config, 'isRegistrationOpen' | 'mail'>,
  registration: Registration,
  language: string,
): Promise<OpenedSession> {
  if (!config.isRegistrationOpen) {
    throw new DomainError(
      'registration_closed',
      'This server does not accept registrations. Ask its operator for an account.',
    );
  }
  const { username, email, password } = registration;
  // First, so that a look-alike in mixed scripts is reported as taken rather than as malformed.
  await assertUsernameAvailable(engine.db, username);
  assertValid(registration);
  const { name, key, skeleton } = parseUsername(username);
  const parsedEmail = parseEmail(email);
  const deviceName = parseDeviceName(registration.device_name);
  await assertEmailAvailable(engine.db, parsedEmail.key);
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
          is_verified: 0,
          created_at: now,
          updated_at: now,
        })
        .returning('pk')
        .executeTakeFirstOrThrow();
      await enqueueMail(trx, config, {
        kind: 'email-verification',
        userPk: pk,
        address: parsedEmail.email,
        language,
      });
      return openSession(trx, pk, deviceName, quotas);
    });
    return { userId, token };
  } catch (error) {
    // A concurrent registration may have taken the email address instead of the username.
    if (engine.isUniqueViolation(error)) await assertEmailAvailable(engine.db, parsedEmail.key);
    throw usernameErrorOf(engine, error);
  }
}

/** Returns an error for each value that is invalid by itself. */
export function findInvalidValues({
  username,
  email,
  password,
  device_name,
}: Registration): DomainError[] {
  const checks = [
    () => parseUsername(username),
    () => parseEmail(email),
    () => checkNewPassword(password, { username, email }, '/password'),
    () => parseDeviceName(device_name),
  ];
  return checks.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      if (error instanceof DomainError) return [error];
      throw error;
    }
  });
}

function assertValid(registration: Registration): void {
  const errors = findInvalidValues(registration);
  if (errors.length > 1) {
    throw new DomainError(
      'invalid_request',
      errors.map(({ message }) => message).join(' '),
      errors.flatMap(({ pointers }) => pointers),
    );
  }
  for (const error of errors) throw error;
}
