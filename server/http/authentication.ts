import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type Caller, findCaller, requireScope } from '../auth/sessions.ts';
import type { Context } from '../context.ts';
import type { Operation } from '../contract.ts';
import { DomainError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated user and session. Null for requests without an access token. */
    caller: Caller | null;
  }
}

/**
 * Returns the hook that authenticates requests according to the `security` of the operation in the contract.
 *
 * If authentication is optional, an invalid token is still rejected. Operations without authentication ignore tokens.
 * Programs need the scope of the operation.
 * @throws DomainError `unauthenticated`, `session_required`, `insufficient_scope`
 */
export function authenticate(
  { engine, config }: Pick<Context, 'engine' | 'config'>,
  operation: Operation,
): onRequestAsyncHookHandler {
  const { authentication } = operation;
  return async (request) => {
    if (authentication === 'none') return;
    const { authorization } = request.headers;
    if (authorization === undefined) {
      if (authentication === 'optional') return;
      throw tokenMissing();
    }
    const token = accessToken(authorization);
    if (token === undefined) {
      throw new DomainError(
        'unauthenticated',
        'The Authorization header is malformed. Send the access token as "Authorization: Bearer <access_token>".',
      );
    }
    const caller = await findCaller(engine, token, config.sessions);
    if (caller === undefined) {
      throw new DomainError(
        'unauthenticated',
        'The access token is invalid, expired or revoked. Sign in again.',
      );
    }
    requireOperation(operation, caller);
    request.caller = caller;
    rememberAccount(token, caller.userId);
  };
}

/** Asserts that an operation accepts the access token of the caller. */
function requireOperation({ scope }: Operation, caller: Caller): void {
  if (caller.scopes !== null && scope === undefined) {
    throw new DomainError(
      'session_required',
      'This operation needs a session. It does not accept access tokens of programs.',
    );
  }
  if (scope !== undefined) requireScope(caller, scope);
}

/**
 * Returns the caller of an operation that requires authentication.
 * @throws DomainError `unauthenticated`
 */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw tokenMissing();
  return request.caller;
}

/** The accounts of access tokens that have been verified lately. */
const accounts = new LRUCache<string, string>({ max: 10_000 });

/**
 * Makes later requests with the same token wait in the line of their account, although their token is verified only
 * after they have waited.
 */
export function rememberAccount(token: string, userId: string): void {
  accounts.set(token, userId);
}

/** Returns the account of a token that has been verified lately. Does not prove that the token is still valid. */
export function rememberedAccount({ headers }: FastifyRequest): string | undefined {
  const token = bearerToken(headers.authorization);
  return token === undefined ? undefined : accounts.get(token);
}

function tokenMissing(): DomainError {
  return new DomainError(
    'unauthenticated',
    'Sign in, and send the access token as "Authorization: Bearer <access_token>".',
  );
}

/** Returns the token of an Authorization header with the scheme Bearer, in any syntax; undefined if there is none. */
export function bearerToken(authorization = ''): string | undefined {
  return /^bearer +(\S.*)$/i.exec(authorization)?.[1];
}

/** Returns the token of an Authorization header; undefined unless it follows RFC 6750, section 2.1. */
function accessToken(authorization: string): string | undefined {
  const token = bearerToken(authorization);
  return token !== undefined && /^[A-Za-z0-9._~+/-]+=*$/.test(token) ? token : undefined;
}
