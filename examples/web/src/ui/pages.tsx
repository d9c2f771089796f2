import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef } from 'react';
import { quantity } from '../words.ts';
import { Failure } from './explanation.tsx';

/** Distance from the end of a list at which the next page is requested. */
const PRELOAD_MARGIN = '400px';

interface PagesProps<Item> {
  query: UseInfiniteQueryResult<InfiniteData<{ items: Item[] }>, unknown>;
  /** What the items are, for the status below the list, such as `space`. */
  noun: string;
  className?: string;
  /** Placeholders that are as large as items. */
  skeleton: ReactNode;
  /** Shown if there are no items: says what to do next. */
  empty: ReactNode;
  children: (item: Item) => ReactNode;
}

/** A list whose pages are loaded when the reader comes near its end. */
export function Pages<Item>(props: PagesProps<Item>) {
  const { query, noun, className = 'list', skeleton, empty, children } = props;
  const end = useNearView(() => {
    if (query.hasNextPage && !query.isFetching && !query.isError) void query.fetchNextPage();
  });
  const items = query.data?.pages.flatMap((page) => page.items) ?? [];
  const retry = () => void (query.data ? query.fetchNextPage() : query.refetch());
  if (query.isPending) return skeleton;
  return (
    <>
      {items.length > 0 && <ul className={className}>{items.map(children)}</ul>}
      {query.isError && <Failure error={query.error} onRetry={retry} />}
      {query.isSuccess && !query.hasNextPage && items.length === 0 ? (
        empty
      ) : (
        <p className="list-status" role="status" ref={end}>
          {items.length > 0 && quantity(items.length, noun)}
          {items.length > 0 && (query.hasNextPage ? ' loaded.' : '.')}
        </p>
      )}
    </>
  );
}

/** Calls a function when an element comes near the visible part of its scroll container, and after each change. */
export function useNearView(onNear: () => void): React.RefObject<HTMLParagraphElement | null> {
  const element = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    if (!element.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) onNear();
      },
      { rootMargin: PRELOAD_MARGIN },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  });
  return element;
}
