import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
import { readPageBody } from '../http/pages.ts';
import { findSharedUsers } from '../spaces/shared-users.ts';
import { listUserSpaces } from '../spaces/user-spaces.ts';
import { readUser } from '../users/user.ts';

export function usersHandlers(context: Context) {
  return {
    findUsers: async (request, reply) => {
      const { q } = request.query;
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        findSharedUsers(context, callerOf(request), q, pageRequest),
      );
      return reply.code(200).send(page);
    },

    getUser: async (request, reply) => {
      const user = await readUser(context, callerOf(request), request.params.user_id);
      return reply.code(200).send(user);
    },

    listUserSpaces: async (request, reply) => {
      const { user_id } = request.params;
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        listUserSpaces(context, callerOf(request), user_id, pageRequest),
      );
      return reply.code(200).send(page);
    },
  } satisfies Partial<RouteHandlers>;
}
