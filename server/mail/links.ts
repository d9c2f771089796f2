import { createToken, hashToken } from '../accounts/tokens.ts';
import type { Database, DatabaseTransaction } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import type { LinkKind } from '../database/schema.ts';
import { DomainError } from '../errors.ts';

/** Allows people and secret scanners to recognise a token. */
const TOKEN_PREFIX = 'spm_';

/** Matches tokens in a text. */
export const LINK_TOKEN = /spm_[\w-]+/g;

const HOUR_MS = 3_600_000;
const LIFETIMES_MS: Readonly<Record<LinkKind, number>> = {
  'email-verification': 48 * HOUR_MS,
  'email-change': 48 * HOUR_MS,
  'password-reset': HOUR_MS,
};

interface NewLink {
  kind: LinkKind;
  userPk: number;
  /** The address that the link is sent to. */
  address: string;
}

/** A link that has been sent and has not expired, with its account. */
export interface Link extends NewLink {
  userId: string;
  username: string;
  email: string;
}

/** Returns the token of a new link. */
export async function createLinkToken(trx: DatabaseTransaction, link: NewLink): Promise<string> {
  const token = createToken(TOKEN_PREFIX);
  await storeLink(trx, token, link);
  return token;
}

/** Makes a token valid until the links of its kind expire. Stores only its hash. */
export async function storeLink(
  trx: DatabaseTransaction,
  token: string,
  { kind, userPk, address }: NewLink,
): Promise<void> {
  await trx
    .insertInto('mail_tokens')
    .values({
      token_hash: hashToken(token),
      kind,
      user_pk: userPk,
      address,
      expires_at: new Date(Date.now() + LIFETIMES_MS[kind]).toISOString(),
    })
    .execute();
}

/**
 * Returns the link of one of these kinds with a token.
 * @throws DomainError `invalid_token` if it is unknown, used or expired
 */
export async function requireLink(
  db: Database,
  token: string,
  kinds: readonly LinkKind[],
): Promise<Link> {
  const link = await db
    .selectFrom('mail_tokens')
    .innerJoin('users', 'users.pk', 'mail_tokens.user_pk')
    .select(['kind', 'address', 'user_pk as userPk', 'user_id as userId', 'username', 'email'])
    .where('token_hash', '=', hashToken(token))
    .where('kind', 'in', kinds)
    .where('expires_at', '>', new Date().toISOString())
    .where(isLiveUser('user_pk'))
    .executeTakeFirst();
  if (!link) throw invalidToken();
  return link;
}

export function invalidToken(): DomainError {
  return new DomainError(
    'invalid_token',
    'The link is unknown, has been used or has expired. Request another one.',
    [{ pointer: '/token', message: 'is unknown, used or expired' }],
  );
}

export async function deleteExpiredLinks(db: Database): Promise<void> {
  await db.deleteFrom('mail_tokens').where('expires_at', '<=', new Date().toISOString()).execute();
}
