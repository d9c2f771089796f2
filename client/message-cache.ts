import type { InfiniteData, QueryClient, QueryFilters, QueryKey } from '@tanstack/react-query';
import type { Message, MessagePage } from '../generated/types.gen.ts';
import { changeCached } from './cache-changes.ts';

/** Adds a message to the infinite lists of its space in the cache, or replaces it there. */
export function putMessage(queryClient: QueryClient, message: Message): void {
  const isSame = ({ message_id }: Message) => message_id === message.message_id;
  changeMessages(queryClient, message.space_id, (pages) => {
    if (pages.some(({ items }) => items.some(isSame))) {
      return pages.map((page) => ({
        ...page,
        items: page.items.map((each) => (isSame(each) ? message : each)),
      }));
    }
    // The end of the last page is its place only if no older message remains to be loaded.
    const target = pages.find(
      ({ items, next_cursor }) =>
        next_cursor === null || items.some((each) => isNewer(message, each)),
    );
    return pages.map((page) =>
      page === target ? { ...page, items: [...page.items, message].sort(newestFirst) } : page,
    );
  });
}

/** Removes a message from the infinite lists of its space in the cache; without a space, from all. */
export function dropMessage(
  queryClient: QueryClient,
  { space_id, message_id }: { space_id?: string | undefined; message_id: string },
): void {
  changeMessages(queryClient, space_id, (pages) =>
    pages.map((page) => ({
      ...page,
      items: page.items.filter((each) => each.message_id !== message_id),
    })),
  );
}

function changeMessages(
  queryClient: QueryClient,
  spaceId: string | undefined,
  change: (pages: MessagePage[]) => MessagePage[],
): void {
  changeCached<InfiniteData<MessagePage>>(queryClient, listsOf(spaceId), (list) => ({
    ...list,
    pages: change(list.pages),
  }));
}

/** Returns a filter for the infinite lists of the messages in a space; without a space, for all of them. */
export function listsOf(spaceId: string | undefined): QueryFilters {
  return {
    predicate({ queryKey }) {
      const { _id, _infinite, query } = readKey(queryKey);
      const isOfSpace = spaceId === undefined || query?.space_id === spaceId;
      return _id === 'listMessages' && _infinite === true && isOfSpace;
    },
  };
}

/** The order of `listMessages`. */
function newestFirst(a: Message, b: Message): number {
  return isNewer(a, b) ? -1 : 1;
}

function isNewer(a: Message, b: Message): boolean {
  const [time, other] = [a.created_at, b.created_at];
  return time > other || (time === other && a.message_id > b.message_id);
}

/** Returns the parts of a generated query key; those of other queries are missing. */
export function readKey(queryKey: QueryKey): {
  _id?: string;
  _infinite?: boolean;
  path?: { space_id?: string };
  query?: { space_id?: string };
} {
  return Object(queryKey[0]);
}
