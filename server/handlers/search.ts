import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { linkNextPage } from '../http/pagination-links.ts';
import { HttpProblem } from '../http/problems.ts';
import type { SearchResponse } from '../search/recent-responses.ts';
import { searchByTag, searchByText } from '../search/search.ts';

export function searchHandlers(
  context: Context,
): Pick<RouteHandlers, 'searchSpaces' | 'searchSpacesByTag'> {
  const send = (request: FastifyRequest, reply: FastifyReply, { body, next }: SearchResponse) => {
    linkNextPage(context.config, request, reply, next);
    return reply.type('application/json').code(200).send(body);
  };
  return {
    searchSpaces: async (request, reply) => {
      const { q, limit = 20, cursor } = request.query;
      return send(request, reply, await searchByText(context, q, { limit, cursor }));
    },

    searchSpacesByTag: async (request, reply) => {
      const { tag } = request.params;
      if (tag === '') {
        throw new HttpProblem(
          'not_found',
          'There is nothing at this path. A tag has at least one character.',
        );
      }
      const { limit = 20, cursor } = request.query ?? {};
      return send(request, reply, await searchByTag(context, tag, { limit, cursor }));
    },
  };
}
