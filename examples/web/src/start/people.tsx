import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { findUsersInfiniteOptions } from 'space-service/tanstack-react-query';
import { useIsSignedIn } from '../session.ts';
import { UserLink } from '../ui/avatar.tsx';

const SHOWN = 6;

/** Pages can be empty although others follow. */
const MAX_PAGES = 5;

/** Users who share a space with the reader, and whose names begin with the query. Shown only if there are some. */
export function People({ query }: { query: string }) {
  const q = query.trim();
  const isSignedIn = useIsSignedIn();
  const { data, hasNextPage, isFetching, isError, fetchNextPage } = useInfiniteQuery({
    ...findUsersInfiniteOptions({ query: { q, limit: SHOWN } }),
    enabled: isSignedIn && q !== '' && [...q].length <= 64,
    placeholderData: keepPreviousData,
  });
  const pages = data?.pages ?? [];
  const users = pages.flatMap(({ items }) => items).slice(0, SHOWN);
  const needsMore = users.length < SHOWN && pages.length < MAX_PAGES && hasNextPage;
  useEffect(() => {
    if (needsMore && !isFetching && !isError) void fetchNextPage();
  }, [needsMore, isFetching, isError, fetchNextPage]);
  if (!isSignedIn || users.length === 0) return null;
  return (
    <section aria-label="People">
      <h2>People in your spaces</h2>
      <ul className="lines">
        {users.map((user) => (
          <li key={user.user_id}>
            <UserLink user={user} size={28} />
          </li>
        ))}
      </ul>
    </section>
  );
}
