import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { ListMessagesData, MessagePage } from '../../generated/types.gen.ts';
import { writeOnceOn } from '../accounts/idempotency-keys.ts';
import type { Context } from '../context.ts';
import { callerOf } from '../http/authentication.ts';
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
  assertSearchable,
  DEFAULT_LIMIT,
  onDisconnect,
  openNewerCursor,
  readPageBody,
  readPageWithLink,
  sealNewerCursor,
} from '../http/pages.ts';
import { appreciate, listAppreciations, withdrawAppreciation } from '../messages/appreciations.ts';
import { editMessage } from '../messages/editing.ts';
import {
  areChangesKept,
  moveReader,
  type ReaderPosition,
  readerAt,
} from '../messages/message-order.ts';
import {
  deleteMessage,
  getMessage,
  listMessages,
  sendMessage,
  stateOf,
} from '../messages/messages.ts';
import { searchMessages } from '../messages/search.ts';
import type { ResourceState } from '../resources.ts';

export function messagesHandlers(context: Context) {
  const { engine, followers } = context;
  const writeOnce = writeOnceOn(engine);

  async function followMessages(
    request: FastifyRequest<{ Querystring: ListMessagesData['query'] }>,
    reply: FastifyReply,
  ): Promise<MessagePage> {
    const { space_id: spaceId, after = '', wait = 0, limit = DEFAULT_LIMIT } = request.query;
    const reader = openNewerCursor(context, request, after) as ReaderPosition;
    const position = [reader[0], reader[1]] as const;
    const isComplete = areChangesKept(reader);
    // A reader who must start again does not wait.
    const waitMs = isComplete ? wait * 1000 : 0;
    const { caller } = request;
    const events = await followers.follow({ caller, spaceId, position, limit, waitMs }, (end) =>
      onDisconnect(reply, end),
    );
    return {
      items: events.items,
      next_cursor: null,
      newer_cursor: sealNewerCursor(context, request, moveReader(reader, events.newer)),
      changed_items: events.changedItems,
      deleted_message_ids: events.deletedMessageIds,
      is_complete: isComplete,
    };
  }

  return {
    listMessages: async (request, reply) => {
      const { space_id, q, around, after } = request.query;
      assertFollowable(request.query);
      assertSearchable(request.query);
      if (after !== undefined) return reply.code(200).send(await followMessages(request, reply));
      const page = await readPageWithLink(context, request, reply, (pageRequest) =>
        q === undefined
          ? listMessages(context, request.caller, space_id, pageRequest, around)
          : searchMessages(context, request.caller, space_id, q, pageRequest),
      );
      return reply.code(200).send({
        items: page.items,
        next_cursor: page.nextCursor,
        newer_cursor: sealNewerCursor(context, request, readerAt(page.newer)),
        changed_items: [],
        deleted_message_ids: [],
        is_complete: true,
      });
    },

    getMessage: async (request, reply) => {
      const message = await getMessage(context, request.caller, request.params.message_id);
      const etag = setEntityTag(reply, stateOf(message));
      if (isInNoneMatch(request, etag)) return sendNotModified(reply);
      return reply.code(200).send(message);
    },

    sendMessage: async (request, reply) => {
      const caller = callerOf(request);
      const message = await writeOnce(caller.userPk, keyedRequest(request), {
        run: (claim) => sendMessage(context, caller, request.body, claim),
        read: (messageId) => getMessage(context, caller, messageId),
      });
      setEntityTag(reply, stateOf(message));
      return reply.code(201).send(message);
    },

    editMessage: async (request, reply) => {
      const { message_id } = request.params;
      const { text } = request.body;
      const caller = callerOf(request);
      const isExpected = (state: ResourceState) => isInMatch(request, entityTagOf(state));
      const message = await writeOnce(caller.userPk, keyedRequest(request), {
        run: (claim) => editMessage(context, caller, message_id, text, isExpected, claim),
        read: (messageId) => getMessage(context, caller, messageId),
      });
      setEntityTag(reply, stateOf(message));
      return reply.code(200).send(message);
    },

    deleteMessage: async (request, reply) => {
      await deleteMessage(engine, callerOf(request), request.params.message_id);
      return reply.code(200).send({ message: 'The message has been deleted.' });
    },

    appreciateMessage: async (request, reply) => {
      const { message_id } = request.params;
      const message = await appreciate(context, callerOf(request), message_id);
      return reply.code(200).send(message);
    },

    withdrawAppreciation: async (request, reply) => {
      const { message_id } = request.params;
      const message = await withdrawAppreciation(context, callerOf(request), message_id);
      return reply.code(200).send(message);
    },

    listAppreciations: async (request, reply) => {
      const { message_id } = request.params;
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        listAppreciations(context, callerOf(request), message_id, pageRequest),
      );
      return reply.code(200).send(page);
    },
  } satisfies Partial<RouteHandlers>;
}
