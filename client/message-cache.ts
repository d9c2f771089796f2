import type { InfiniteData, QueryClient, QueryFilters, QueryKey } from '@tanstack/react-query';
import type { Message, MessagePage } from '../generated/types.gen.ts';
import { changeCached } from './cache-changes.ts';

/** Number of code points of a message in a preview. */
const MAX_PREVIEW_LENGTH = 140;

/** A page in the cache. */
export interface CachedPage extends MessagePage {
  /** False if newer messages remain to be loaded. */
  isNewest?: boolean;
}

/** Returns whether the newest messages are loaded. Only then, later ones follow those in the list. */
export function isCurrent({ pages: [first] }: { pages: readonly CachedPage[] }): boolean {
  return first?.isNewest !== false;
}

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
  changeMessages(queryClient, message.space_id, (list, isSearch) => {
    const pages = list.map((page) => ({ ...page, items: page.items.map(update) }));
    const contains = (test: (each: Message) => boolean) =>
      pages.some(({ items }) => items.some(test));
    if (isSearch || contains(isSame)) return pages;
    // Others in between remain to be loaded.
    if (!isCurrent({ pages }) && !contains((each) => isNewer(each, message))) return pages;
    // The end of the last page is its place only if no older message remains to be loaded.
    const target = pages.find(
      ({ items, next_cursor }, index) =>
        (next_cursor === null && index === pages.length - 1) ||
        items.some((each) => isNewer(message, each)),
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

/** Returns whether an infinite list of its space has a message. */
export function isCached(queryClient: QueryClient, { space_id, message_id }: Message): boolean {
  const lists = queryClient.getQueriesData<InfiniteData<CachedPage>>(listsOf(space_id));
  return lists.some(([, list]) =>
    list?.pages.some(({ items }) => items.some((each) => each.message_id === message_id)),
  );
}

/** Marks the messages of an author in the infinite lists in the cache. */
export function markBlocked(queryClient: QueryClient, user_id: string, is_blocked: boolean): void {
  changeMessages(queryClient, undefined, (pages) =>
    pages.map((page) => ({
      ...page,
      items: page.items.map((each) =>
        each.author.user_id === user_id ? { ...each, is_blocked } : each,
      ),
    })),
  );
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
  change: (pages: CachedPage[], isSearch: boolean) => CachedPage[],
): void {
  for (const isSearch of [false, true]) {
    changeCached<InfiniteData<CachedPage>>(queryClient, listsOf(spaceId, isSearch), (list) => ({
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

/** Returns a filter for those lists whose newest messages are loaded. */
export function currentListsOf(spaceId: string): QueryFilters {
  const { predicate } = listsOf(spaceId);
  return {
    predicate(query) {
      const list = query.state.data as InfiniteData<CachedPage> | undefined;
      return !!predicate?.(query) && !!list && isCurrent(list);
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
