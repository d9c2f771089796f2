import type { FastifyReply } from 'fastify';
import type { RouteHandlers } from '../../generated/fastify.gen.ts';
import type { Context } from '../context.ts';
import { nextPageLink } from '../http/pagination-links.ts';
import { HttpProblem } from '../http/problems.ts';
import type { Page } from '../pagination.ts';
import { recall, type SearchAnswer } from '../search/recent-responses.ts';
import type { SearchResultJson } from '../search/results.ts';
import { searchTag } from '../search/tag-search.ts';
import { searchText } from '../search/text-search.ts';

export function searchHandlers(
  context: Context,
): Pick<RouteHandlers, 'searchSpaces' | 'searchSpacesByTag'> {
  const { config, engine, metrics, recentAnswers } = context;
  /** Equal URLs ask the same, whoever asks. */
  const answer = (
    url: string,
    search: (revision: number) => Promise<Page<SearchResultJson>>,
  ): Promise<SearchAnswer> =>
    recall(engine, recentAnswers, url, async (revision) => {
      const { items, next } = await search(revision);
      return { body: Buffer.from(`[${items.join(',')}]`), link: nextPageLink(config, url, next) };
    });

  return {
    searchSpaces: async ({ query, url }, reply) => {
      const { q, limit = 20, cursor } = query;
      const found = await metrics.timeSearch('text', () =>
        answer(url, (revision) => searchText(context, q, { limit, cursor }, revision)),
      );
      return send(reply, found);
    },

    searchSpacesByTag: async ({ params: { tag }, query, url }, reply) => {
      if (tag === '')
        throw new HttpProblem(
          'not_found',
          'There is nothing at this path. A tag has at least one character.',
        );
      const { limit = 20, cursor } = query ?? {};
      const found = await metrics.timeSearch('tag', () =>
        answer(url, (revision) => searchTag(context, tag, { limit, cursor }, revision)),
      );
      return send(reply, found);
    },
  };
}

function send(reply: FastifyReply, { body, link }: SearchAnswer) {
  if (link !== null) reply.header('link', link);
  return reply.type('application/json').code(200).send(body);
}
