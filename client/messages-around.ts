import type { QueryClient } from '@tanstack/react-query';
import { listMessagesInfiniteOptions } from '../generated/@tanstack/react-query.gen.ts';
import type { Client } from '../generated/client/index.ts';
import { countEvents } from './following.ts';
import type { CachedPage } from './message-cache.ts';
import { applyEvents } from './message-hooks.ts';

type Options = ReturnType<typeof listMessagesInfiniteOptions>;
type PageParam = Options['initialPageParam'];

/** The parameter of a page of newer messages. */
interface NewerPage {
  query: { space_id: string; after: string };
  /** The parameter of the page that follows it in the list. */
  older: PageParam;
}

interface MessagesAround {
  spaceId: string;
  /** The id of a message, or a time. Without it, the list begins with the newest messages. */
  around: string | undefined;
  limit: number;
  client: Client | undefined;
}

/** Options of an infinite query: its next pages have earlier messages, and its previous ones have newer messages. */
export function messagesAround(
  queryClient: QueryClient,
  { spaceId: space_id, around, limit, client }: MessagesAround,
): Options {
  const options = listMessagesInfiniteOptions({ client, query: { space_id, limit, around } });
  if (around === undefined) return options;
  return {
    ...options,
    // Defined, because an undefined parameter ends a list that is loaded again.
    initialPageParam: { query: { space_id } },
    async queryFn(context): Promise<CachedPage> {
      const page = await options.queryFn(context);
      if (!isNewerPage(context.pageParam)) return { ...page, isNewest: false };
      applyEvents(queryClient, page);
      return { ...page, items: [...page.items].reverse(), isNewest: countEvents(page) < limit };
    },
    getNextPageParam: (last, _pages, param) =>
      isNewerPage(param) ? param.older : last.next_cursor,
    getPreviousPageParam(first: CachedPage, _pages, older) {
      if (first.isNewest) return undefined;
      const newer: NewerPage = { query: { space_id, after: first.newer_cursor }, older };
      return newer;
    },
  };
}

function isNewerPage(param: unknown): param is NewerPage {
  return Object(param).older !== undefined;
}
