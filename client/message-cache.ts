import type { InfiniteData, QueryClient, QueryFilters, QueryKey } from '@tanstack/react-query';
import type { Message, MessagePage } from '../generated/types.gen.ts';
import { changeCached } from './cache-changes.ts';

/** Number of code points of a message in a preview. */
const MAX_PREVIEW_LENGTH = 140;

/**
 * Adds a message to the infinite lists of its space in the cache, or replaces it there, also in what answers it. Searches
 * do not get it: only the service knows whether it matches.
 */
export function putMessage(queryClient: QueryClient, message: Message): void {
  const isSame = ({ message_id }: { message_id: string }) => message_id === message.message_id;
  const preview = previewOf(message);
  const update = (each: Message) => {
    if (isSame(each)) return message;
    return each.reply_to && isSame(each.reply_to) ? { ...each, reply_to: preview } : each;
  };
  changeMessages(queryClient, message.space_id, (pages, isSearch) => {
    if (isSearch || pages.some(({ items }) => items.some(isSame))) {
      return pages.map((page) => ({
        ...page,
        items: page.items.map(update),
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

function previewOf({ message_id, author, text, created_at }: Message): Message['reply_to'] {
  const codePoints = [...text];
  const beginning = codePoints.slice(0, MAX_PREVIEW_LENGTH).join('');
  const isWhole = codePoints.length <= MAX_PREVIEW_LENGTH;
  return { message_id, author, text: isWhole ? text : `${beginning}…`, created_at };
}

/** Removes a message from the infinite lists of its space in the cache; without a space, from all. */
export function dropMessage(
  queryClient: QueryClient,
  { space_id, message_id }: { space_id?: string | undefined; message_id: string },
): void {
  changeMessages(queryClient, space_id, (pages) =>
    pages.map((page) => ({
      ...page,
      items: page.items
        .filter((each) => each.message_id !== message_id)
        .map((each) =>
          each.reply_to?.message_id === message_id ? { ...each, reply_to: null } : each,
        ),
    })),
  );
}

function changeMessages(
  queryClient: QueryClient,
  spaceId: string | undefined,
  change: (pages: MessagePage[], isSearch: boolean) => MessagePage[],
): void {
  for (const isSearch of [false, true]) {
    changeCached<InfiniteData<MessagePage>>(queryClient, listsOf(spaceId, isSearch), (list) => ({
      ...list,
      pages: change(list.pages, isSearch),
    }));
  }
}

/**
 * Returns a filter for the infinite lists of the messages in a space, or for the searches in it; without a space, for those
 * of all spaces.
 */
export function listsOf(spaceId: string | undefined, isSearch = false): QueryFilters {
  return {
    predicate({ queryKey }) {
      const { _id, _infinite, query } = readKey(queryKey);
      const isOfSpace = spaceId === undefined || query?.space_id === spaceId;
      const isOfKind = (query?.q !== undefined) === isSearch;
      return _id === 'listMessages' && _infinite === true && isOfSpace && isOfKind;
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
  query?: { space_id?: string; q?: string };
} {
  return Object(queryKey[0]);
}
