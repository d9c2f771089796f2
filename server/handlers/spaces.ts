import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
import { networkKey } from '../http/client-key.ts';
import { readPageBody } from '../http/pages.ts';
import { withAdditionalLimit, withNetworkLimit } from '../http/rate-limits.ts';
import { markRead } from '../messages/read-positions.ts';
import {
  joinSpace,
  leaveSpace,
  listParticipants,
  listParticipations,
  readParticipation,
} from '../spaces/participations.ts';
import { listRemovals, removeParticipant, undoRemoval } from '../spaces/removals.ts';
import { isPublicSpace } from '../spaces/space-access.ts';
import { deleteSpace } from '../spaces/space-deletion.ts';
import { createSpace, readSpace, renewInvitationCode, updateSpace } from '../spaces/spaces.ts';

export function spacesHandlers(context: Context) {
  const { engine, rateLimits } = context;
  return {
    createSpace: async (request, reply) => {
      const space = await withNetworkLimit(rateLimits, 'space', request, () =>
        createSpace(context, callerOf(request), request.body),
      );
      return reply.code(201).send(space);
    },

    getSpace: async (request, reply) => {
      const space = await readSpace(context, request.caller, request.params.space_id);
      return reply.code(200).send(space);
    },

    updateSpace: async (request, reply) => {
      const { space_id } = request.params;
      const space = await withNetworkLimit(rateLimits, 'space', request, () =>
        updateSpace(context, callerOf(request), space_id, request.body),
      );
      return reply.code(200).send(space);
    },

    deleteSpace: async (request, reply) => {
      await deleteSpace(engine, callerOf(request), request.params.space_id);
      return reply.code(200).send({ message: 'The space and its messages have been deleted.' });
    },

    listParticipations: async (request, reply) => {
      const { sort = 'joined' } = request.query ?? {};
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        listParticipations(context, callerOf(request), sort, pageRequest),
      );
      return reply.code(200).send(page);
    },

    getParticipation: async (request, reply) => {
      const { space_id } = request.params;
      const participation = await readParticipation(context, callerOf(request), space_id);
      return reply.code(200).send(participation);
    },

    joinSpace: async (request, reply) => {
      const { space_id } = request.params;
      const invitation = request.body?.invitation_code ?? undefined;
      const caller = callerOf(request);
      const join = () => joinSpace(context, caller, space_id, invitation);
      // Failed attempts are limited, because they can be guesses of an invitation code. Public spaces have none.
      const attempt = (await isPublicSpace(engine, space_id))
        ? join
        : () =>
            withAdditionalLimit(rateLimits.join, caller.userId, () =>
              withAdditionalLimit(rateLimits.joinFromNetwork, networkKey(request), join),
            );
      const participation = await withNetworkLimit(rateLimits, 'change', request, attempt);
      return reply.code(200).send(participation);
    },

    markRead: async (request, reply) => {
      const { space_id } = request.params;
      const participation = await withNetworkLimit(rateLimits, 'change', request, () =>
        markRead(context, callerOf(request), space_id, request.body.message_id),
      );
      return reply.code(200).send(participation);
    },

    leaveSpace: async (request, reply) => {
      await leaveSpace(engine, callerOf(request), request.params.space_id);
      return reply.code(200).send({ message: 'You have left the space.' });
    },

    renewInvitationCode: async (request, reply) => {
      const { space_id } = request.params;
      const space = await withNetworkLimit(rateLimits, 'change', request, () =>
        renewInvitationCode(context, callerOf(request), space_id),
      );
      return reply.code(200).send(space);
    },

    listParticipants: async (request, reply) => {
      const { space_id } = request.query;
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        listParticipants(context, callerOf(request), space_id, pageRequest),
      );
      return reply.code(200).send(page);
    },

    listRemovals: async (request, reply) => {
      const { space_id } = request.query;
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        listRemovals(context, callerOf(request), space_id, pageRequest),
      );
      return reply.code(200).send(page);
    },

    removeParticipant: async (request, reply) => {
      const { space_id, user_id } = request.params;
      const removal = await withNetworkLimit(rateLimits, 'change', request, () =>
        removeParticipant(context, callerOf(request), space_id, user_id),
      );
      return reply.code(200).send(removal);
    },

    undoRemoval: async (request, reply) => {
      const { space_id, user_id } = request.params;
      await undoRemoval(engine, callerOf(request), space_id, user_id);
      return reply.code(200).send({ message: 'The user can join the space again.' });
    },
  } satisfies Partial<RouteHandlers>;
}
