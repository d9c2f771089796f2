import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Scope, SessionSummary } from '../../generated/types.gen.ts';
import { findAccount } from '../accounts/account.ts';
import type { QuotaHolder } from '../accounts/quotas.ts';
import { createToken, hashToken } from '../accounts/tokens.ts';
import type { Quotas, SessionLifetimes } from '../config.ts';
import type { Database, DatabaseTransaction, Engine } from '../database/engine.ts';
import { readPage } from '../database/keyset-page.ts';
import { columnOf, prepare, prepareForSet } from '../database/prepared.ts';
import type { NewRow, Users } from '../database/schema.ts';
import { transact } from '../database/transaction.ts';
import { DomainError, ScopeMissingError } from '../errors.ts';
import type { Page, PageRequest } from '../pagination.ts';

/**
 * The sender of a request: a user, and the session of the access token. Access tokens of programs are sessions with
 * scopes, so that whatever ends sessions of an account can end them, and each check that a session exists covers them.
 */
export interface Caller extends QuotaHolder {
  userId: string;
  sessionPk: number;
  /** What a program may do. Null for a session that a person has started, which may do everything. */
  scopes: readonly Scope[] | null;
}

/** The result of a registration or login. The token is not stored, so it can be returned only once. */
export interface OpenedSession {
  userId: string;
  token: string;
}

/** Allows people and secret scanners to recognise a token. */
const TOKEN_PREFIX = 'sps_';

/** Minimum time between two updates of `last_used_at`, so that most requests that read do not write. */
const LAST_USED_INTERVAL_SECONDS = 3600;

/**
 * Opens a session and returns its token. Only the token's hash is stored. If the account then has more than
 * `maxSessions` sessions, ends the least recently used ones.
 */
export async function openSession(
  trx: DatabaseTransaction,
  userPk: number,
  deviceName: string | null,
  { maxSessions }: Pick<Quotas, 'maxSessions'>,
): Promise<string> {
  const token = createToken(TOKEN_PREFIX);
  const now = new Date().toISOString();
  const { pk } = await trx
    .insertInto('sessions')
    .values({
      session_id: randomUUID(),
      token_hash: hashToken(token),
      user_pk: userPk,
      created_at: now,
      last_used_at: now,
      device_name: deviceName,
      token_name: null,
      scopes: null,
      expires_at: null,
    } satisfies NewRow<'sessions'>)
    .returning('pk')
    .executeTakeFirstOrThrow();
  // Never ends the new session. If a clock was ahead when the others were used, the new one would seem to be the least
  // recently used one.
  await trx
    .deleteFrom('sessions')
    .where('user_pk', '=', userPk)
    .where('scopes', 'is', null)
    .where('pk', '!=', pk)
    .where('pk', 'not in', (from) =>
      from
        .selectFrom('sessions')
        .select('pk')
        .where('user_pk', '=', userPk)
        .where('scopes', 'is', null)
        .where('pk', '!=', pk)
        .orderBy('last_used_at', 'desc')
        .orderBy('pk', 'desc')
        .limit(maxSessions - 1),
    )
    .execute();
  return token;
}

/** Whether a user has a session with this device name. */
export async function hasSessionOn(
  db: Database,
  userPk: number,
  deviceName: string,
): Promise<boolean> {
  const session = await db
    .selectFrom('sessions')
    .select('pk')
    .where('user_pk', '=', userPk)
    .where('device_name', '=', deviceName)
    .limit(1)
    .executeTakeFirst();
  return session !== undefined;
}

/** Returns the caller with this access token; undefined if the token is unknown or has expired. */
export async function findCaller(
  engine: Engine,
  token: string,
  lifetimes: SessionLifetimes,
): Promise<Caller | undefined> {
  const now = Date.now();
  const [row] = await selectCaller(engine.db, {
    tokenHash: hashToken(token),
    now: new Date(now).toISOString(),
    unusedSince: secondsBefore(now, lifetimes.idleSeconds),
    openedBefore: secondsBefore(now, lifetimes.absoluteSeconds),
  });
  if (!row) return undefined;
  const { last_used_at, created_at, scopes, ...caller } = row;
  const isFirstUse = scopes !== null && last_used_at === created_at;
  // Not awaited, because a busy writer must not delay requests that only read.
  if (isFirstUse || last_used_at < secondsBefore(now, LAST_USED_INTERVAL_SECONDS)) {
    void updateLastUsed(engine, caller.sessionPk);
  }
  return { ...caller, scopes: scopes === null ? null : parseScopes(scopes) };
}

const selectCaller = prepare(
  { tokenHash: 'text', now: 'text', unusedSince: 'text', openedBefore: 'text' },
  (db, { tokenHash, now, unusedSince, openedBefore }) =>
    db
      .selectFrom('sessions')
      .innerJoin('users', 'users.pk', 'sessions.user_pk')
      .select([
        'sessions.pk as sessionPk',
        'sessions.last_used_at',
        'sessions.created_at',
        'sessions.scopes',
        'users.pk as userPk',
        'users.user_id as userId',
      ])
      .where('token_hash', '=', tokenHash)
      .where(({ or, and, eb }) =>
        or([
          and([
            eb('sessions.scopes', 'is', null),
            eb('sessions.last_used_at', '>', unusedSince),
            eb('sessions.created_at', '>', openedBefore),
          ]),
          and([eb('sessions.scopes', 'is not', null), isUnexpired(now)]),
        ]),
      ),
);

/** Condition for access tokens of programs. */
export function isUnexpired(now: string | RawBuilder<string>) {
  return sql<boolean>`(expires_at IS NULL OR expires_at > ${now})`;
}

/** @throws DomainError `insufficient_scope`, only for programs */
export function requireScope(caller: Caller, scope: Scope): void {
  if (!hasScope(caller, scope)) throw new ScopeMissingError(scope);
}

/** Whether a caller may do what the scope allows. Sessions of people may do everything. */
export function hasScope({ scopes }: Caller, scope: Scope): boolean {
  return scopes === null || scopes.includes(scope);
}

/** @param text names separated by spaces, as in `WWW-Authenticate` (RFC 6750) */
export function parseScopes(text: string): Scope[] {
  return text.split(' ') as Scope[];
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
 * Checks that the caller's session still exists. It may have ended since the request was authenticated, for example
 * because the account was deleted. Call it in the transaction of every write.
 * @throws DomainError `unauthenticated`
 */
export async function requireSession(
  db: Database,
  { sessionPk }: Pick<Caller, 'sessionPk'>,
): Promise<void> {
  const [row] = await findSessions(db, [sessionPk]);
  if (row === undefined) throw sessionEnded();
}

/**
 * Like `requireSession`, and returns what others see of the caller.
 * @throws DomainError `unauthenticated`
 */
export async function requireUser(
  db: Database,
  { sessionPk }: Pick<Caller, 'sessionPk'>,
): Promise<Pick<Users, 'user_id' | 'username' | 'avatar'>> {
  const [user] = await selectUser(db, { sessionPk, now: new Date().toISOString() });
  if (!user) throw sessionEnded();
  return user;
}

const selectUser = prepare({ sessionPk: 'bigint', now: 'text' }, (db, { sessionPk, now }) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.pk', 'sessions.user_pk')
    .select(['user_id', 'username', 'avatar'])
    .where('sessions.pk', '=', sessionPk)
    .where(isUnexpired(now)),
);

export function sessionEnded(): DomainError {
  return new DomainError('unauthenticated', 'The session has ended. Sign in again.');
}

/** Returns which of these sessions have not ended. Those of programs end when they expire, also during a request. */
export async function findSessions(db: Database, sessionPks: Iterable<number>): Promise<number[]> {
  const now = new Date().toISOString();
  const rows = await selectSessions(
    db,
    Array.from(sessionPks, (pk) => ({ pk, now })),
  );
  return columnOf(rows, 'pk');
}

const selectSessions = prepareForSet({ pk: 'bigint', now: 'text' }, (db, rows) => {
  // The same one in each row.
  const { now } = rows[0] as (typeof rows)[number];
  return db
    .selectFrom('sessions')
    .select('pk')
    .where('pk', 'in', columnOf(rows, 'pk'))
    .where(isUnexpired(now));
});

/**
 * Returns a page of a user's sessions that have not expired, the newest first.
 * @param caller `sessionPk` is null for the operator
 */
export async function listSessions(
  { db }: Engine,
  { userPk, sessionPk }: { userPk: number; sessionPk: number | null },
  lifetimes: SessionLifetimes,
  request: PageRequest,
): Promise<Page<SessionSummary>> {
  const now = Date.now();
  const query = db
    .selectFrom('sessions')
    .select(['pk', 'session_id', 'created_at', 'last_used_at', 'device_name'])
    .where('user_pk', '=', userPk)
    .where('scopes', 'is', null)
    .where('last_used_at', '>', secondsBefore(now, lifetimes.idleSeconds))
    .where('created_at', '>', secondsBefore(now, lifetimes.absoluteSeconds));
  const page = await readPage(query, ['pk'], 'desc', request);
  const items = page.items.map(({ pk, ...session }) => ({
    ...session,
    is_current: pk === sessionPk,
  }));
  return { items, next: page.next };
}

export async function endCurrentSession(engine: Engine, { sessionPk }: Caller): Promise<void> {
  await engine.db.deleteFrom('sessions').where('pk', '=', sessionPk).execute();
}

/**
 * Ends one of the caller's sessions.
 * @throws DomainError `session_not_found`
 */
export async function endSession(engine: Engine, caller: Caller, sessionId: string): Promise<void> {
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    const { numDeletedRows } = await trx
      .deleteFrom('sessions')
      .where('session_id', '=', sessionId)
      .where('user_pk', '=', caller.userPk)
      .where('scopes', 'is', null)
      .executeTakeFirst();
    if (numDeletedRows === 0n) {
      throw new DomainError('session_not_found', 'You have no such session. It may have ended.');
    }
  });
}

/**
 * Ends all sessions of the caller's account.
 * @throws DomainError `unauthenticated` if the caller's session has ended, so that it cannot end later ones
 */
export async function endAllSessions(engine: Engine, caller: Caller): Promise<void> {
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await endSessionsOfUser(trx, caller.userPk);
  });
}

/**
 * Ends the sessions of a user, but not the access tokens of programs.
 * @param keptSessionPk a session that does not end
 */
export async function endSessionsOfUser(
  trx: DatabaseTransaction,
  userPk: number,
  keptSessionPk = 0,
): Promise<void> {
  await trx
    .deleteFrom('sessions')
    .where('user_pk', '=', userPk)
    .where('pk', '<>', keptSessionPk)
    .where('scopes', 'is', null)
    .execute();
}

/**
 * Ends sessions of an account; all of them if no ids are given. For the operator.
 * @param account an email address or a user id
 * @param sessionIds also ids of access tokens of programs
 * @param revokesTokens whether to revoke all access tokens of programs, too, if no ids are given
 * @returns the number of sessions that have ended; undefined if the account does not exist
 * @throws DomainError `session_not_found`, after which none has ended
 */
export async function endSessionsOf(
  engine: Engine,
  account: string,
  sessionIds: readonly string[],
  revokesTokens = false,
): Promise<number | undefined> {
  return transact(engine, async (trx) => {
    const userPk = await findAccount(trx, account);
    if (userPk === undefined) return undefined;
    const ended = await trx
      .deleteFrom('sessions')
      .where('user_pk', '=', userPk)
      .$if(sessionIds.length > 0, (query) => query.where('session_id', 'in', sessionIds))
      .$if(sessionIds.length === 0 && !revokesTokens, (query) => query.where('scopes', 'is', null))
      .returning('session_id')
      .execute();
    const missing = sessionIds.find((id) => !ended.some(({ session_id }) => session_id === id));
    if (missing !== undefined) {
      throw new DomainError(
        'session_not_found',
        `The account has no session with the id ${missing}. No session has ended.`,
      );
    }
    return ended.length;
  });
}

export async function deleteExpiredSessions(
  engine: Engine,
  lifetimes: SessionLifetimes,
): Promise<void> {
  const now = Date.now();
  await engine.db
    .deleteFrom('sessions')
    .where('expires_at', '<=', new Date(now).toISOString())
    .execute();
  await engine.db
    .deleteFrom('sessions')
    .where('scopes', 'is', null)
    .where((where) =>
      where.or([
        where('last_used_at', '<=', secondsBefore(now, lifetimes.idleSeconds)),
        where('created_at', '<=', secondsBefore(now, lifetimes.absoluteSeconds)),
      ]),
    )
    .execute();
}

function secondsBefore(now: number, seconds: number): string {
  return new Date(now - seconds * 1000).toISOString();
}
