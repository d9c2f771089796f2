import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { readUser } from '../users/user.ts';

export function usersHandlers({ config, engine }: Context): Pick<RouteHandlers, 'getUser'> {
  return {
    getUser: async (request, reply) => {
      const user = await readUser(engine, request.params.user_id, config.avatarBase);
      return reply.code(200).send(user);
    },
  };
}
