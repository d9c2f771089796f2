import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import { blockUser, listBlocks, unblockUser } from '../blocks/blocks.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
import { readPageBody } from '../http/pages.ts';

export function blocksHandlers(context: Context) {
  const { engine } = context;
  return {
    listBlocks: async (request, reply) => {
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        listBlocks(context, callerOf(request), pageRequest),
      );
      return reply.code(200).send(page);
    },

    blockUser: async (request, reply) => {
      const block = await blockUser(context, callerOf(request), request.params.user_id);
      return reply.code(200).send(block);
    },

    unblockUser: async (request, reply) => {
      await unblockUser(engine, callerOf(request), request.params.user_id);
      return reply.code(200).send({ message: 'You have not blocked the user.' });
    },
  } satisfies Partial<RouteHandlers>;
}
