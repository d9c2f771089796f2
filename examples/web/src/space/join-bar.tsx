import type { Space } from 'space-service';
import { useParticipation } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { useIsSignedIn } from '../session.ts';
import { showFailure } from '../ui/notice.tsx';

/** Shown instead of the field for messages to those who do not participate. */
export function JoinBar({ space: { space_id } }: { space: Space }) {
  const { join } = useParticipation(space_id, { onError: showFailure });
  return (
    <div className="join-bar">
      <p>Join to write in this space.</p>
      {useIsSignedIn() ? (
        <button type="button" onClick={() => join.mutate({ path: { space_id }, body: {} })}>
          Join space
        </button>
      ) : (
        <a className="button" href={addressOf('sign-in', { back: location.hash })}>
          Sign in to join
        </a>
      )}
    </div>
  );
}
