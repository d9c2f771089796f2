import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import type { UserSummary } from 'space-service';
import {
  listRemovalsInfiniteOptions,
  undoRemovalMutation,
} from 'space-service/tanstack-react-query';
import { UserLink } from '../ui/avatar.tsx';
import { showFailure, showNotice } from '../ui/notice.tsx';
import { Pages } from '../ui/pages.tsx';

/** Who has been removed from a space. Shown only if there is somebody. */
export function Removals({ spaceId }: { spaceId: string }) {
  const removals = useInfiniteQuery(listRemovalsInfiniteOptions({ query: { space_id: spaceId } }));
  if (!removals.data?.pages[0]?.items.length) return null;
  return (
    <section aria-label="Removed">
      <h2>Removed</h2>
      <Pages query={removals} noun="user" className="lines" skeleton={null} empty={null}>
        {({ user, removed_by }) => (
          <li key={user.user_id}>
            <UserLink user={user} size={28} />
            {removed_by && <span className="hint">by {removed_by.username}</span>}
            <Undo spaceId={spaceId} user={user} />
          </li>
        )}
      </Pages>
    </section>
  );
}

function Undo({ spaceId, user }: { spaceId: string; user: UserSummary }) {
  const undo = useMutation({
    ...undoRemovalMutation(),
    onSuccess: () => showNotice(`${user.username} can join again.`),
    onError: showFailure,
  });
  return (
    <button
      type="button"
      className="secondary small"
      aria-label={`Undo the removal of ${user.username}`}
      onClick={() => undo.mutate({ path: { space_id: spaceId, user_id: user.user_id } })}
    >
      Undo
    </button>
  );
}
