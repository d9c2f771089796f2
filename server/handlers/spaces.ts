import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { ListParticipationsData, ParticipationPage } from '../../generated/types.gen.ts';
import { writeOnceOn } from '../accounts/idempotency-keys.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
import { networkKey } from '../http/client-key.ts';
import {
  entityTagOf,
  isInMatch,
  isInNoneMatch,
  sendNotModified,
  setEntityTag,
} from '../http/entity-tags.ts';
import { keyedRequest } from '../http/idempotency-key.ts';
import {
  assertFollowable,
  DEFAULT_LIMIT,
  onDisconnect,
  openNewerCursor,
  readPageBody,
  readPageWithLink,
  sealNewerCursor,
} from '../http/pages.ts';
import { withAdditionalLimit } from '../http/rate-limits.ts';
import { markRead } from '../messages/read-positions.ts';
import type { ResourceState } from '../resources.ts';
import { fromCursor, toCursor } from '../spaces/list-position.ts';
import { appointModerator, dismissModerator } from '../spaces/moderators.ts';
import {
  joinSpace,
  leaveSpace,
  listParticipants,
  listParticipations,
  readParticipation,
  updateParticipation,
} from '../spaces/participations.ts';
import { listRemovals, removeParticipant, undoRemoval } from '../spaces/removals.ts';
import { isPublicSpace } from '../spaces/space-access.ts';
import { deleteSpace } from '../spaces/space-deletion.ts';
import {
  createSpace,
  locateSpace,
  readSpace,
  renewInvitationCode,
  updateSpace,
} from '../spaces/spaces.ts';

export function spacesHandlers(context: Context) {
  const { engine, rateLimits, listFollowers } = context;
  const writeOnce = writeOnceOn(engine);

  async function followParticipations(
    request: FastifyRequest<{ Querystring?: ListParticipationsData['query'] }>,
    reply: FastifyReply,
  ): Promise<ParticipationPage> {
    const { after = '', wait = 0, limit = DEFAULT_LIMIT } = request.query ?? {};
    const caller = callerOf(request);
    const position = fromCursor(openNewerCursor(context, request, after));
    const changes = await listFollowers.follow(
      { caller, position, limit, waitMs: wait * 1000 },
      (end) => onDisconnect(reply, end),
    );
    return {
      items: changes.items,
      next_cursor: null,
      newer_cursor: sealNewerCursor(context, request, toCursor(changes.newer)),
      left_space_ids: changes.leftSpaceIds,
      is_complete: changes.isComplete,
      unread: null,
    };
  }

  return {
    createSpace: async (request, reply) => {
      const caller = callerOf(request);
      const { state, space } = await writeOnce(caller.userPk, keyedRequest(request), {
        run: (claim) => createSpace(context, caller, request.body, claim),
        read: (spaceId) => readSpace(context, caller, spaceId),
      });
      setEntityTag(reply, state);
      return reply.code(201).send(space);
    },

    getSpace: async (request, reply) => {
      const { space_id } = request.params;
      const { state, read } = await locateSpace(context, request.caller, space_id);
      const etag = setEntityTag(reply, state);
      if (isInNoneMatch(request, etag)) return sendNotModified(reply);
      return reply.code(200).send(await read());
    },

    updateSpace: async (request, reply) => {
      const { space_id } = request.params;
      const caller = callerOf(request);
      const isExpected = (state: ResourceState) => isInMatch(request, entityTagOf(state));
      const { state, space } = await writeOnce(caller.userPk, keyedRequest(request), {
        run: (claim) => updateSpace(context, caller, space_id, request.body, isExpected, claim),
        read: (spaceId) => readSpace(context, caller, spaceId),
      });
      setEntityTag(reply, state);
      return reply.code(200).send(space);
    },

    deleteSpace: async (request, reply) => {
      await deleteSpace(engine, callerOf(request), request.params.space_id);
      return reply.code(200).send({ message: 'The space and its messages have been deleted.' });
    },

    listParticipations: async (request, reply) => {
      const { sort = 'joined', after } = request.query ?? {};
      assertFollowable(request.query ?? {});
      if (after !== undefined) {
        return reply.code(200).send(await followParticipations(request, reply));
      }
      const page = await readPageWithLink(context, request, reply, (pageRequest) =>
        listParticipations(context, callerOf(request), sort, pageRequest),
      );
      return reply.code(200).send({
        items: page.items,
        next_cursor: page.nextCursor,
        newer_cursor: sealNewerCursor(context, request, toCursor(page.newer)),
        left_space_ids: [],
        is_complete: true,
        unread: page.unread,
      });
    },

    getParticipation: async (request, reply) => {
      const { space_id } = request.params;
      const participation = await readParticipation(context, callerOf(request), space_id);
      return reply.code(200).send(participation);
    },

    updateParticipation: async (request, reply) => {
      const { space_id } = request.params;
      const participation = await updateParticipation(
        context,
        callerOf(request),
        space_id,
        request.body,
      );
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
      const { state, participation } = await attempt();
      setEntityTag(reply, state);
      return reply.code(200).send(participation);
    },

    markRead: async (request, reply) => {
      const { space_id } = request.params;
      const participation = await markRead(
        context,
        callerOf(request),
        space_id,
        request.body.message_id,
      );
      return reply.code(200).send(participation);
    },

    leaveSpace: async (request, reply) => {
      await leaveSpace(engine, callerOf(request), request.params.space_id);
      return reply.code(200).send({ message: 'You have left the space.' });
    },

    renewInvitationCode: async (request, reply) => {
      const { space_id } = request.params;
      const caller = callerOf(request);
      const { state, space } = await writeOnce(caller.userPk, keyedRequest(request), {
        run: (claim) => renewInvitationCode(context, caller, space_id, claim),
        read: (spaceId) => readSpace(context, caller, spaceId),
      });
      setEntityTag(reply, state);
      return reply.code(200).send(space);
    },

    listParticipants: async (request, reply) => {
      const { space_id } = request.query;
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        listParticipants(context, callerOf(request), space_id, pageRequest),
      );
      return reply.code(200).send(page);
    },

    appointModerator: async (request, reply) => {
      const { space_id, user_id } = request.params;
      const moderator = await appointModerator(context, callerOf(request), space_id, user_id);
      return reply.code(200).send(moderator);
    },

    dismissModerator: async (request, reply) => {
      const { space_id, user_id } = request.params;
      await dismissModerator(engine, callerOf(request), space_id, user_id);
      return reply.code(200).send({ message: 'The user is not a moderator.' });
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
      const removal = await removeParticipant(context, callerOf(request), space_id, user_id);
      return reply.code(200).send(removal);
    },

    undoRemoval: async (request, reply) => {
      const { space_id, user_id } = request.params;
      await undoRemoval(engine, callerOf(request), space_id, user_id);
      return reply.code(200).send({ message: 'The user can join the space again.' });
    },
  } satisfies Partial<RouteHandlers>;
}
