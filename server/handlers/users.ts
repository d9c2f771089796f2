import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { readUser } from '../users/user.ts';

export function usersHandlers(context: Context) {
  return {
    getUser: async (request, reply) => {
      const user = await readUser(context, request.params.user_id);
      return reply.code(200).send(user);
    },
  } satisfies Partial<RouteHandlers>;
}
