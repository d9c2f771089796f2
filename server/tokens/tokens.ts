import { randomUUID } from 'node:crypto';
import type { CreatedToken, TokenCreation, TokenSummary } from '../../generated/types.gen.ts';
import { countOperation, quotaExceeded } from '../accounts/quotas.ts';
import { createToken, hashToken } from '../accounts/tokens.ts';
import { type Caller, isUnexpired, parseScopes, requireSession } from '../auth/sessions.ts';
import type { Engine } from '../database/engine.ts';
import { readPage } from '../database/keyset-page.ts';
import type { NewRow } from '../database/schema.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { QuotaResources } from '../resources.ts';
import { parseLine } from '../text/characters.ts';
import { quantity } from '../text/quantity.ts';

// Access tokens of programs are rows of `sessions`, see `Caller`. Their ids are those of sessions.

/** Allows people and secret scanners to recognise a token. Tokens of sessions have another prefix. */
const TOKEN_PREFIX = 'spt_';

/**
 * Creates an access token for a program. Only the token's hash is stored.
 * @throws DomainError `invalid_request`, `quota_exceeded`, `too_many_requests`
 */
export async function issueToken(
  { engine, quotas }: QuotaResources,
  caller: Caller,
  creation: TokenCreation,
): Promise<CreatedToken> {
  const name = parseTokenName(creation.name);
  const expires_at = parseExpiry(creation.expires_at);
  const scopes = [...new Set(creation.scopes)];
  const access_token = createToken(TOKEN_PREFIX);
  const created_at = new Date().toISOString();
  const token_id = randomUUID();
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countOperation(trx, quotas, caller, 'createToken');
    const { count } = await selectTokens({ db: trx }, caller.userPk, created_at)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    if (count >= quotas.maxTokens) {
      throw quotaExceeded(
        `An account can have at most ${quantity(quotas.maxTokens, 'access token')} for programs. Revoke one before you create another.`,
      );
    }
    await trx
      .insertInto('sessions')
      .values({
        session_id: token_id,
        token_hash: hashToken(access_token),
        user_pk: caller.userPk,
        created_at,
        last_used_at: created_at,
        device_name: null,
        token_name: name,
        scopes: scopes.join(' '),
        expires_at,
      } satisfies NewRow<'sessions'>)
      .execute();
  });
  return { token_id, access_token, name, scopes, created_at, last_used_at: null, expires_at };
}

/**
 * Returns the name of an access token without surrounding white space.
 * @throws DomainError `invalid_request`
 */
export function parseTokenName(text: string): string {
  return parseLine(text, 'The name of a program', '/name');
}

/** @throws DomainError `invalid_request` */
function parseExpiry(text: string | null | undefined): string | null {
  if (text == null) return null;
  const time = new Date(text);
  if (!isDay(text.slice(0, 10)) || !(time.getTime() > Date.now())) {
    const detail =
      'An access token must expire in the future. Without expires_at, it does not expire.';
    throw new DomainError('invalid_request', detail, [
      { pointer: '/expires_at', code: 'malformed', message: 'must be a time in the future' },
    ]);
  }
  return time.toISOString();
}

/** The pattern of the contract accepts February 30, which Date takes for a day in March. */
function isDay(date: string): boolean {
  const day = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date);
}

/** Returns a page of the access tokens of a user's programs that have not expired, the newest first. */
export async function listTokens(
  engine: Engine,
  { userPk }: Pick<Caller, 'userPk'>,
  request: PageRequest,
): Promise<Page<TokenSummary>> {
  const query = selectTokens(engine, userPk, new Date().toISOString())
    .select(['pk', 'session_id as token_id', 'created_at', 'last_used_at', 'expires_at'])
    .select(({ ref }) => [
      ref('token_name').$notNull().as('name'),
      ref('scopes').$notNull().as('scopes'),
    ]);
  const page = await readPage(query, ['pk'], 'desc', request);
  const items = page.items.map(({ pk: _, scopes, created_at, last_used_at, ...token }) => ({
    ...token,
    scopes: parseScopes(scopes),
    created_at,
    last_used_at: last_used_at === created_at ? null : last_used_at,
  }));
  return { items, next: page.next };
}

function selectTokens({ db }: Pick<Engine, 'db'>, userPk: number, now: string) {
  return db
    .selectFrom('sessions')
    .where('user_pk', '=', userPk)
    .where('scopes', 'is not', null)
    .where(isUnexpired(now));
}

/**
 * Revokes the access token of one of the caller's programs.
 * @throws DomainError `token_not_found`
 */
export async function revokeToken(engine: Engine, caller: Caller, tokenId: string): Promise<void> {
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    const { numDeletedRows } = await trx
      .deleteFrom('sessions')
      .where('session_id', '=', tokenId)
      .where('user_pk', '=', caller.userPk)
      .where('scopes', 'is not', null)
      .executeTakeFirst();
    if (numDeletedRows === 0n) {
      throw new DomainError(
        'token_not_found',
        'You have no such access token. It may have been revoked.',
      );
    }
  });
}
