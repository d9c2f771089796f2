import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { readPage } from '../http/pages.ts';
import { HttpProblem } from '../http/problems.ts';
import type { PageRequest } from '../pagination.ts';
import { searchByTag, searchByText } from '../search/search.ts';
import type { SearchResponse } from '../search/search-state.ts';

export function searchHandlers(context: Context) {
  const search = async (
    request: FastifyRequest,
    reply: FastifyReply,
    read: (pageRequest: PageRequest) => Promise<SearchResponse>,
  ) => {
    const { body, answeredQuery } = await readPage(context, request, reply, read);
    if (answeredQuery !== null) reply.header('answered-query', encodeURIComponent(answeredQuery));
    return reply.type('application/json').code(200).send(body);
  };
  return {
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
  } satisfies Partial<RouteHandlers>;
}
