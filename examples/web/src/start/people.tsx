import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { findUsersOptions } from 'space-service/tanstack-react-query';
import { useIsSignedIn } from '../session.ts';
import { UserLink } from '../ui/avatar.tsx';

const SHOWN = 6;

/** Users who share a space with the reader, and whose names begin with the query. Shown only if there are some. */
export function People({ query }: { query: string }) {
  const q = query.trim();
  const isSignedIn = useIsSignedIn();
  const { data } = useQuery({
    ...findUsersOptions({ query: { q, limit: SHOWN } }),
    enabled: isSignedIn && q !== '' && [...q].length <= 64,
    placeholderData: keepPreviousData,
  });
  if (!isSignedIn || !data?.items.length) return null;
  return (
    <section aria-label="People">
      <h2>People in your spaces</h2>
      <ul className="lines">
        {data.items.map((user) => (
          <li key={user.user_id}>
            <UserLink user={user} size={28} />
          </li>
        ))}
      </ul>
    </section>
  );
}
