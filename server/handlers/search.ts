import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import type { Page } from '../cursor.ts';
import { HttpProblem } from '../http/problems.ts';
import { recall } from '../search/recent.ts';
import type { SearchResultJson } from '../search/results.ts';
import { searchTag } from '../search/tag.ts';
import { searchText } from '../search/text.ts';
import { linkNextPage } from './pages.ts';

export function searchHandlers({
  config,
  engine,
  metrics,
  recentPages,
}: Context): Pick<RouteHandlers, 'searchSpaces' | 'searchSpacesByTag'> {
  return {
    searchSpaces: async (request, reply) => {
      const { q, limit = 20, cursor } = request.query;
      const page = await metrics.timeSearch('text', () =>
        recall(engine, recentPages, request.url, (revision) =>
          searchText(engine, q, { limit, cursor }, config.avatarBase, revision),
        ),
      );
      return sendResults(request, reply, page);
    },

    searchSpacesByTag: async (request, reply) => {
      const { tag } = request.params;
      if (tag === '')
        throw new HttpProblem(
          'not_found',
          'There is nothing at this path. A tag has at least one character.',
        );
      const { limit = 20, cursor } = request.query ?? {};
      const page = await metrics.timeSearch('tag', () =>
        recall(engine, recentPages, request.url, (revision) =>
          searchTag(engine, tag, { limit, cursor }, config.avatarBase, revision),
        ),
      );
      return sendResults(request, reply, page);
    },
  };
}

/** Sends results as the text that they are already. */
function sendResults(
  request: FastifyRequest,
  reply: FastifyReply,
  { items, next }: Page<SearchResultJson>,
) {
  linkNextPage(request, reply, next);
  return reply
    .type('application/json')
    .code(200)
    .send(`[${items.join(',')}]`);
}
