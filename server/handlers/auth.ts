import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Registration, Session } from '../../generated/types.gen.ts';
import { requestPasswordReset, resetPassword } from '../account-lifecycle/password-reset.ts';
import { findInvalidValues, register } from '../account-lifecycle/registration.ts';
import { verifyEmail } from '../account-lifecycle/verification.ts';
import { emailKey } from '../accounts/email.ts';
import { login } from '../auth/login.ts';
import {
  endAllSessions,
  endCurrentSession,
  endSession,
  listSessions,
  type OpenedSession,
} from '../auth/sessions.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
import { clientKey, networkKey } from '../http/client-key.ts';
import { mailLanguage } from '../http/mail-language.ts';
import { readPageBody } from '../http/pages.ts';
import { invalidValues } from '../http/problems.ts';
import {
  withAdditionalLimit,
  withLoginDelay,
  withMailLimits,
  withRateLimit,
} from '../http/rate-limits.ts';
import { explainValidation } from '../http/validation.ts';
import { audit } from '../system/audit-log.ts';

/** Adds the values that break only rules beyond the schema, so that a form can show all errors at once. */
function allInvalidValues(error: Error, body: Registration): Error {
  const problem = explainValidation(error);
  const values = [body?.username, body?.email, body?.password, body?.device_name ?? ''];
  if (!problem || !values.every(isString)) return error;
  const known = new Set(problem.pointers.map(({ pointer }) => pointer));
  const others = findInvalidValues(body).flatMap(({ pointers }) => pointers);
  return invalidValues([
    ...problem.pointers,
    ...others.filter(({ pointer }) => !known.has(pointer)),
  ]);
}

const isString = (value: unknown) => typeof value === 'string';

export function authHandlers(context: Context) {
  const { config, engine, rateLimits, mailer } = context;
  const describe = ({ userId, token }: OpenedSession): Session => ({
    user_id: userId,
    access_token: token,
    token_type: 'Bearer',
    expires_in: Math.min(config.sessions.idleSeconds, config.sessions.absoluteSeconds),
  });
  return {
    register: async (request, reply) => {
      if (request.validationError) throw allInvalidValues(request.validationError, request.body);
      const { body } = request;
      const session = await withRateLimit(rateLimits.register, clientKey(request), reply, () =>
        withMailLimits(context, request, body.email, () =>
          register(context, config, body, mailLanguage(context, request)),
        ),
      );
      mailer.wake();
      return reply.code(201).send(describe(session));
    },

    login: async (request, reply) => {
      const { email, password, device_name } = request.body;
      const account = emailKey(email);
      const attempt = () =>
        withAdditionalLimit(rateLimits.loginFromNetwork, `${account} ${networkKey(request)}`, () =>
          withLoginDelay(context, account, () => login(context, email, password, device_name)),
        );
      const key = `${account} ${clientKey(request)}`;
      const session = await withRateLimit(rateLimits.login, key, reply, attempt);
      if (session.isNewDevice) {
        audit(request.log, 'signed in on a new device', { userId: session.userId });
      }
      return reply.code(200).send(describe(session));
    },

    logout: async (request, reply) => {
      const caller = callerOf(request);
      await (request.query?.everywhere
        ? endAllSessions(engine, caller)
        : endCurrentSession(engine, caller));
      return reply.code(200).send({ message: 'You are signed out.' });
    },

    requestPasswordReset: async (request, reply) => {
      const { email } = request.body;
      await withRateLimit(rateLimits.mail, clientKey(request), reply, () =>
        withAdditionalLimit(rateLimits.mailFromNetwork, networkKey(request), () =>
          // Counted separately and per exact address. Otherwise registrations and similar addresses could use up
          // someone else's resets.
          withAdditionalLimit(rateLimits.passwordResets, emailKey(email), () =>
            requestPasswordReset(context, email, mailLanguage(context, request)),
          ),
        ),
      );
      mailer.wake();
      return reply.code(202).send({
        message: 'If an account has this address, a mail with a link is on its way.',
      });
    },

    resetPassword: async (request, reply) => {
      const { token, newPassword } = request.body;
      const userId = await resetPassword(
        context,
        token,
        newPassword,
        mailLanguage(context, request),
      );
      audit(request.log, 'password changed', { userId });
      mailer.wake();
      return reply.code(200).send({ message: 'Your password has been changed. Sign in with it.' });
    },

    verifyEmail: async (request, reply) => {
      const { token } = request.body;
      const { kind, userId, address } = await verifyEmail(
        context,
        token,
        mailLanguage(context, request),
      );
      if (kind === 'email-change') audit(request.log, 'email address changed', { userId });
      mailer.wake();
      return reply.code(200).send({ message: `The address ${address} is verified.` });
    },

    listSessions: async (request, reply) => {
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        listSessions(engine, callerOf(request), config.sessions, pageRequest),
      );
      return reply.code(200).send(page);
    },

    endSession: async (request, reply) => {
      await endSession(engine, callerOf(request), request.params.session_id);
      return reply.code(200).send({ message: 'The session has ended.' });
    },
  } satisfies Partial<RouteHandlers>;
}
