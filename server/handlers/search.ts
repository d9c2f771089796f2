import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { readPageBody, readPageWithLink } from '../http/pages.ts';
import { HttpProblem } from '../http/problems.ts';
import type { PageRequest } from '../pagination.ts';
import { assertOneList } from '../search/list-choice.ts';
import { listSpaces, searchByTag, searchByText } from '../search/search.ts';
import type { SearchResponse } from '../search/search-state.ts';
import { listTags } from '../search/tag-counts.ts';
import { addParticipations } from '../spaces/listed-spaces.ts';

export function searchHandlers(context: Context) {
  const search = async (
    request: FastifyRequest,
    reply: FastifyReply,
    read: (pageRequest: PageRequest) => Promise<SearchResponse>,
  ) => {
    const { body, answeredQuery } = await readPageWithLink(context, request, reply, read);
    if (answeredQuery !== null) reply.header('answered-query', encodeURIComponent(answeredQuery));
    return sendJson(reply, body);
  };
  return {
    listSpaces: async (request, reply) => {
      const { q, tag, sort = 'popular', as_typed = false } = request.query ?? {};
      assertOneList({ ...request.query, asTyped: as_typed });
      // The default order has the same cursors whether it is omitted or not.
      if (q === undefined && tag === undefined) Object.assign(request.query ?? {}, { sort });
      const page = await readPageWithLink(context, request, reply, (pageRequest) => {
        if (q !== undefined)
          return searchByText(context, { query: q, asTyped: as_typed }, pageRequest);
        if (tag !== undefined) return searchByTag(context, tag, pageRequest);
        return listSpaces(context, sort, pageRequest);
      });
      const items = await addParticipations(context.engine, request.caller, page);
      return sendJson(reply, pageBody(items, page));
    },

    searchSpaces: async (request, reply) => {
      const { q, as_typed = false } = request.query;
      const textQuery = { query: q, asTyped: as_typed };
      return search(request, reply, (pageRequest) => searchByText(context, textQuery, pageRequest));
    },

    searchSpacesByTag: async (request, reply) => {
      const { tag } = request.params;
      if (tag === '') {
        throw new HttpProblem(
          'not_found',
          'The path does not exist. A tag has at least one character.',
        );
      }
      return search(request, reply, (pageRequest) => searchByTag(context, tag, pageRequest));
    },

    listTags: async (request, reply) => {
      const { prefix = '' } = request.query ?? {};
      const page = await readPageBody(context, request, reply, (pageRequest) =>
        listTags(context.engine, prefix, pageRequest),
      );
      return reply.code(200).send(page);
    },
  } satisfies Partial<RouteHandlers>;
}

/** Sends the JSON of search results as it is. */
function sendJson(reply: FastifyReply, body: Buffer) {
  return reply.type('application/json').code(200).send(body);
}

/** Returns the body of a page of spaces, which are JSON already. */
function pageBody(
  items: Buffer,
  { nextCursor, answeredQuery }: { nextCursor: string | null; answeredQuery: string | null },
): Buffer {
  const rest = { next_cursor: nextCursor, answered_query: answeredQuery };
  return Buffer.concat([
    Buffer.from('{"items":'),
    items,
    Buffer.from(`,${JSON.stringify(rest).slice(1)}`),
  ]);
}
