import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { type Caller, findCaller } from '../auth/sessions.ts';
import type { Context } from '../context.ts';
import type { Operation } from '../contract.ts';
import { DomainError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sends the request; null for a stranger, where the contract admits one. */
    caller: Caller | null;
  }
}

/**
 * Finds out who is calling, as the contract's `security` of the operation asks, before anything of the body is read.
 * A token that is no good is refused even where none is needed.
 */
export function authenticate(
  { engine, config }: Pick<Context, 'engine' | 'config'>,
  { authentication }: Operation,
): onRequestAsyncHookHandler {
  return async (request) => {
    if (authentication === 'none') return;
    const { authorization } = request.headers;
    if (authorization === undefined && authentication === 'optional') return;
    const token = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) throw tokenMissing(authorization);
    const caller = await findCaller(engine, token, config.sessions);
    if (caller === undefined) {
      throw new DomainError(
        'unauthenticated',
        'The access token is expired or revoked, or not one of this service. Sign in again.',
      );
    }
    request.caller = caller;
  };
}

/** The caller of an operation that requires one. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw tokenMissing(undefined);
  return request.caller;
}

function tokenMissing(authorization: string | undefined): DomainError {
  const how = 'send the access token as "Authorization: Bearer <access_token>".';
  return new DomainError(
    'unauthenticated',
    authorization === undefined
      ? `Sign in, and ${how}`
      : `The Authorization header has another form than is needed: ${how}`,
  );
}
