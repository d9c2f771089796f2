import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Session } from '../../generated/types.gen.ts';
import { emailKey } from '../accounts/email.ts';
import { login } from '../auth/login.ts';
import { register } from '../auth/registration.ts';
import { endAllSessions, endSession, type OpenedSession } from '../auth/sessions.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
import { clientKey } from '../http/client-key.ts';
import { withRateLimit } from '../http/rate-limits.ts';

export function authHandlers({
  config,
  engine,
  rateLimits,
}: Context): Pick<RouteHandlers, 'register' | 'login' | 'logout'> {
  const describe = ({ userId, token }: OpenedSession): Session => ({
    user_id: userId,
    access_token: token,
    token_type: 'Bearer',
    expires_in: Math.min(config.sessions.idleSeconds, config.sessions.absoluteSeconds),
  });
  return {
    register: async (request, reply) => {
      const session = await withRateLimit(rateLimits.register, clientKey(request), reply, () =>
        register(engine, request.body),
      );
      return reply.code(201).send(describe(session));
    },

    login: async (request, reply) => {
      const { email, password } = request.body;
      const session = await withRateLimit(
        rateLimits.login,
        `${emailKey(email)} ${clientKey(request)}`,
        reply,
        () => login(engine, email, password),
      );
      return reply.code(200).send(describe(session));
    },

    logout: async (request, reply) => {
      const caller = callerOf(request);
      await (request.query?.everywhere
        ? endAllSessions(engine, caller)
        : endSession(engine, caller));
      return reply.code(200).send({ message: 'You are signed out.' });
    },
  };
}
