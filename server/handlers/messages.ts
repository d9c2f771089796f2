import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import { createOnceOn } from '../accounts/idempotency-keys.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
import { keyedRequest } from '../http/idempotency-key.ts';
import { readPageBody } from '../http/pages.ts';
import { withNetworkLimit } from '../http/rate-limits.ts';
import { appreciate, withdrawAppreciation } from '../messages/appreciations.ts';
import {
  deleteMessage,
  listMessages,
  readVisibleMessage,
  sendMessage,
} from '../messages/messages.ts';

export function messagesHandlers(context: Context) {
  const { engine, rateLimits } = context;
  const createOnce = createOnceOn(engine);
  return {
    listMessages: async (request, reply) => {
      const { space_id } = request.query;
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        listMessages(context, request.caller, space_id, pageRequest),
      );
      return reply.code(200).send(page);
    },

    sendMessage: async (request, reply) => {
      const { space_id, text } = request.body;
      const caller = callerOf(request);
      const message = await createOnce(caller.userPk, keyedRequest(request), {
        create: (claim) =>
          withNetworkLimit(rateLimits, 'message', request, () =>
            sendMessage(context, caller, space_id, text, claim),
          ),
        read: (messageId) => readVisibleMessage(context, caller, messageId),
      });
      return reply.code(201).send(message);
    },

    deleteMessage: async (request, reply) => {
      await deleteMessage(engine, callerOf(request), request.params.message_id);
      return reply.code(200).send({ message: 'The message has been deleted.' });
    },

    appreciateMessage: async (request, reply) => {
      const { message_id } = request.params;
      const message = await withNetworkLimit(rateLimits, 'change', request, () =>
        appreciate(context, callerOf(request), message_id),
      );
      return reply.code(200).send(message);
    },

    withdrawAppreciation: async (request, reply) => {
      const { message_id } = request.params;
      const message = await withdrawAppreciation(context, callerOf(request), message_id);
      return reply.code(200).send(message);
    },
  } satisfies Partial<RouteHandlers>;
}
