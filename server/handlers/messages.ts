import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
import { linkNextPage } from '../http/pagination-links.ts';
import { appreciate, withdrawAppreciation } from '../messages/appreciations.ts';
import { deleteMessage, listMessages, sendMessage } from '../messages/messages.ts';

type Operations =
  | 'listMessages'
  | 'sendMessage'
  | 'deleteMessage'
  | 'appreciateMessage'
  | 'withdrawAppreciation';

export function messagesHandlers({ config, engine }: Context): Pick<RouteHandlers, Operations> {
  return {
    listMessages: async (request, reply) => {
      const { space_id, limit = 20, cursor } = request.query;
      const page = await listMessages(
        engine,
        request.caller,
        space_id,
        { limit, cursor },
        config.avatarBase,
      );
      linkNextPage(config, request, reply, page.next);
      return reply.code(200).send(page.items);
    },

    sendMessage: async (request, reply) => {
      const { space_id, text } = request.body;
      const message = await sendMessage(
        engine,
        callerOf(request),
        space_id,
        text,
        config.avatarBase,
      );
      return reply.code(201).send(message);
    },

    deleteMessage: async (request, reply) => {
      await deleteMessage(engine, callerOf(request), request.params.message_id);
      return reply.code(200).send({ message: 'The message has been deleted.' });
    },

    appreciateMessage: async (request, reply) => {
      const { message_id } = request.params;
      const message = await appreciate(engine, callerOf(request), message_id, config.avatarBase);
      return reply.code(200).send(message);
    },

    withdrawAppreciation: async (request, reply) => {
      const { message_id } = request.params;
      const message = await withdrawAppreciation(
        engine,
        callerOf(request),
        message_id,
        config.avatarBase,
      );
      return reply.code(200).send(message);
    },
  };
}
