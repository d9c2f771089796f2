import { createHash, randomBytes } from 'node:crypto';
import type { Quotas } from '../config.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { DomainError } from '../errors.ts';

/** The sender of a request: a user, and the session of the access token. */
export interface Caller {
  userPk: number;
  userId: string;
  sessionPk: number;
}

/** A new session. The token is not stored, so it can be returned only once. */
export interface OpenedSession {
  userId: string;
  token: string;
}

export interface SessionLifetimes {
  /** Maximum time since the last use. */
  idleSeconds: number;
  /** Maximum time since the session was opened. */
  absoluteSeconds: number;
}

/** Allows people and secret scanners to recognise a token. */
const TOKEN_PREFIX = 'sps_';

/** Minimum time between two updates of `last_used_at`, so that most requests that read do not write. */
const LAST_USED_INTERVAL_SECONDS = 3600;

/**
 * Opens a session and returns its token. Only the token's hash is stored. If the account has more than `maxSessions`
 * sessions, ends those that were not used for the longest time.
 */
export async function openSession(
  trx: DatabaseTransaction,
  userPk: number,
  { maxSessions }: Pick<Quotas, 'maxSessions'>,
): Promise<string> {
  const token = TOKEN_PREFIX + randomBytes(32).toString('base64url');
  const now = new Date().toISOString();
  await trx
    .insertInto('sessions')
    .values({ token_hash: hashToken(token), user_pk: userPk, created_at: now, last_used_at: now })
    .execute();
  await trx
    .deleteFrom('sessions')
    .where('pk', 'in', (from) =>
      from
        .selectFrom('sessions')
        .select('pk')
        .where('user_pk', '=', userPk)
        .orderBy('last_used_at', 'desc')
        .orderBy('pk', 'desc')
        .limit(-1)
        .offset(maxSessions),
    )
    .execute();
  return token;
}

/** Returns the caller with this access token; undefined if the token is unknown or its session has expired. */
export async function findCaller(
  engine: Engine,
  token: string,
  lifetimes: SessionLifetimes,
): Promise<Caller | undefined> {
  const now = Date.now();
  const row = await engine.db
    .selectFrom('sessions')
    .innerJoin('users', 'users.pk', 'sessions.user_pk')
    .select([
      'sessions.pk as sessionPk',
      'sessions.last_used_at',
      'users.pk as userPk',
      'users.user_id as userId',
    ])
    .where('token_hash', '=', hashToken(token))
    .where('sessions.last_used_at', '>', secondsBefore(now, lifetimes.idleSeconds))
    .where('sessions.created_at', '>', secondsBefore(now, lifetimes.absoluteSeconds))
    .executeTakeFirst();
  if (!row) return undefined;
  const { last_used_at, ...caller } = row;
  // Not awaited, because a busy writer must not delay requests that only read.
  if (last_used_at < secondsBefore(now, LAST_USED_INTERVAL_SECONDS))
    void updateLastUsed(engine, caller.sessionPk);
  return caller;
}

/** Never rejects. */
async function updateLastUsed(engine: Engine, sessionPk: number): Promise<void> {
  try {
    await engine.db
      .updateTable('sessions')
      .set({ last_used_at: new Date().toISOString() })
      .where('pk', '=', sessionPk)
      .execute();
  } catch (error) {
    if (!engine.isUnavailable(error)) process.emitWarning(error as Error);
  }
}

/**
 * Checks in a transaction that the caller's session still exists. It may have ended since the request was
 * authenticated, for example because the account was deleted.
 * @throws DomainError `unauthenticated`
 */
export async function requireSession(
  trx: DatabaseTransaction,
  { sessionPk }: Pick<Caller, 'sessionPk'>,
): Promise<void> {
  const row = await trx
    .selectFrom('sessions')
    .select('pk')
    .where('pk', '=', sessionPk)
    .executeTakeFirst();
  if (!row) throw new DomainError('unauthenticated', 'The session has ended. Sign in again.');
}

export async function endSession(engine: Engine, { sessionPk }: Caller): Promise<void> {
  await engine.db.deleteFrom('sessions').where('pk', '=', sessionPk).execute();
}

export async function endAllSessions(engine: Engine, { userPk }: Caller): Promise<void> {
  await engine.db.deleteFrom('sessions').where('user_pk', '=', userPk).execute();
}

/** Deletes expired sessions. */
export async function deleteExpiredSessions(
  engine: Engine,
  lifetimes: SessionLifetimes,
): Promise<void> {
  const now = Date.now();
  await engine.db
    .deleteFrom('sessions')
    .where((where) =>
      where.or([
        where('last_used_at', '<=', secondsBefore(now, lifetimes.idleSeconds)),
        where('created_at', '<=', secondsBefore(now, lifetimes.absoluteSeconds)),
      ]),
    )
    .execute();
}

function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function secondsBefore(now: number, seconds: number): string {
  return new Date(now - seconds * 1000).toISOString();
}
