import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { linkNextPage, readPageRequest } from '../http/pages.ts';
import { HttpProblem } from '../http/problems.ts';
import { searchByTag, searchByText } from '../search/search.ts';
import type { SearchResponse } from '../search/search-state.ts';

export function searchHandlers(context: Context) {
  const send = (request: FastifyRequest, reply: FastifyReply, response: SearchResponse) => {
    const { body, next, answeredQuery } = response;
    if (answeredQuery !== null) reply.header('answered-query', encodeURIComponent(answeredQuery));
    linkNextPage(context, request, reply, next);
    return reply.type('application/json').code(200).send(body);
  };
  return {
    searchSpaces: async (request, reply) => {
      const { q, as_typed = false } = request.query;
      const pageRequest = readPageRequest(context, request);
      const textQuery = { query: q, asTyped: as_typed };
      return send(request, reply, await searchByText(context, textQuery, pageRequest));
    },

    searchSpacesByTag: async (request, reply) => {
      const { tag } = request.params;
      if (tag === '') {
        throw new HttpProblem(
          'not_found',
          'The path does not exist. A tag has at least one character.',
        );
      }
      const pageRequest = readPageRequest(context, request);
      return send(request, reply, await searchByTag(context, tag, pageRequest));
    },
  } satisfies Partial<RouteHandlers>;
}
