import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import { deleteAccount } from '../account-lifecycle/deletion.ts';
import { changeEmail } from '../account-lifecycle/email-change.ts';
import { readMailboxKey, requestEmailVerification } from '../account-lifecycle/verification.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
import { clientKey, networkKey } from '../http/client-key.ts';
import { sendJsonParts } from '../http/json-parts.ts';
import { mailLanguage } from '../http/mail-language.ts';
import { withAdditionalLimit, withMailLimits, withRateLimit } from '../http/rate-limits.ts';
import { withAvatarUpload } from '../http/uploads.ts';
import { readAccountData } from '../profile/account-data.ts';
import { changeAvatar, removeAvatar } from '../profile/avatar.ts';
import { changeBio } from '../profile/bio.ts';
import { changePassword } from '../profile/password.ts';
import { readProfile } from '../profile/profile.ts';
import { changeUsername } from '../profile/username.ts';
import { audit } from '../system/audit-log.ts';

export function profileHandlers(context: Context) {
  const { config, engine, rateLimits, housekeeping, mailer } = context;
  return {
    getProfile: async (request, reply) => {
      const profile = await readProfile(context, callerOf(request));
      return reply.code(200).send(profile);
    },

    changeUsername: async (request, reply) => {
      const caller = callerOf(request);
      const username = await withRateLimit(rateLimits.username, caller.userId, reply, () =>
        changeUsername(engine, caller, request.body.username),
      );
      return reply.code(200).send({ message: `Your username is now ${username}.` });
    },

    changeBio: async (request, reply) => {
      await changeBio(context, callerOf(request), request.body);
      return reply.code(200).send({ message: 'Your bio has been changed.' });
    },

    changeProfilePicture: async (request, reply) => {
      const caller = callerOf(request);
      const profile_picture = await withRateLimit(rateLimits.avatar, caller.userId, reply, () =>
        withAvatarUpload(request, async (file) => {
          try {
            return await changeAvatar(context, caller, file);
          } finally {
            // Removes the old avatar, or after a failure the new one. The response does not wait for it.
            void housekeeping.removeDiscardedAvatars();
          }
        }),
      );
      return reply.code(200).send({ profile_picture });
    },

    removeProfilePicture: async (request, reply) => {
      const profile_picture = await removeAvatar(context, callerOf(request));
      await housekeeping.removeDiscardedAvatars();
      return reply.code(200).send({ profile_picture });
    },

    changePassword: async (request, reply) => {
      const caller = callerOf(request);
      const { currentPassword, newPassword } = request.body;
      await withRateLimit(rateLimits.password, String(caller.sessionPk), reply, () =>
        changePassword(
          context,
          caller,
          currentPassword,
          newPassword,
          mailLanguage(context, request),
        ),
      );
      audit(request.log, 'password changed', { userId: caller.userId });
      mailer.wake();
      return reply
        .code(200)
        .send({ message: 'Your password has been changed, and every other session has ended.' });
    },

    changeEmail: async (request, reply) => {
      const caller = callerOf(request);
      const { email, currentPassword } = request.body;
      const change = () =>
        changeEmail(context, caller, email, currentPassword, mailLanguage(context, request));
      await withRateLimit(rateLimits.password, String(caller.sessionPk), reply, () =>
        // Like a registration, it tells whether an address is taken.
        withAdditionalLimit(rateLimits.register, clientKey(request), () =>
          withAdditionalLimit(rateLimits.mail, caller.userId, () =>
            withMailLimits(context, request, email, change),
          ),
        ),
      );
      mailer.wake();
      return reply
        .code(202)
        .send({ message: `Open the link in the mail to ${email} to change your address.` });
    },

    requestEmailVerification: async (request, reply) => {
      const caller = callerOf(request);
      // Counted separately. Otherwise, registrations of similar addresses could use up the mail of the account.
      const key = `verification ${await readMailboxKey(engine, caller)}`;
      await withRateLimit(rateLimits.mailToMailbox, key, reply, () =>
        withAdditionalLimit(rateLimits.mailFromNetwork, networkKey(request), () =>
          requestEmailVerification(context, caller, mailLanguage(context, request)),
        ),
      );
      mailer.wake();
      return reply.code(202).send({
        message: 'If your address is not verified yet, a mail with a link is on its way.',
      });
    },

    downloadAccountData: async (request, reply) => {
      const data = await readAccountData(context, callerOf(request), config.sessions);
      return sendJsonParts(reply, data);
    },

    deleteAccount: async (request, reply) => {
      const caller = callerOf(request);
      await deleteAccount(engine, caller);
      audit(request.log, 'account deleted', { userId: caller.userId });
      await housekeeping.removeDiscardedAvatars();
      return reply
        .code(200)
        .send({ message: 'Your account and everything in it have been deleted.' });
    },
  } satisfies Partial<RouteHandlers>;
}
