import type { RouteHandlerMethod } from 'fastify';
import { requireVerifiedEmail } from '../account-lifecycle/verification.ts';
import type { Context } from '../context.ts';
import type { Operation } from '../contract.ts';
import { callerOf } from './authentication.ts';

/** Restricts an operation to callers with a verified email address, if the contract and the operator say so. */
export function withVerifiedEmail(
  { engine, config }: Pick<Context, 'engine' | 'config'>,
  { needsVerifiedEmail }: Operation,
  handler: RouteHandlerMethod,
): RouteHandlerMethod {
  if (!needsVerifiedEmail || !config.requiresVerifiedEmail) return handler;
  return async function (request, reply) {
    await requireVerifiedEmail(engine, callerOf(request));
    return handler.call(this, request, reply);
  };
}
