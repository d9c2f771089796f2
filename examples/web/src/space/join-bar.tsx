import { useMutation } from '@tanstack/react-query';
import type { Space } from 'space-service';
import { joinSpaceMutation } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { useIsSignedIn } from '../session.ts';
import { Form } from '../ui/form.tsx';

/** Shown instead of the field for messages to those who do not participate. */
export function JoinBar({ space: { space_id } }: { space: Space }) {
  const isSignedIn = useIsSignedIn();
  const join = useMutation(joinSpaceMutation());
  return (
    <div className="join-bar">
      <p>Join to write in this space.</p>
      {isSignedIn ? (
        <Form
          mutation={join}
          submit="Join space"
          variables={() => ({ path: { space_id }, body: {} })}
        />
      ) : (
        <a className="button" href={addressOf('sign-in', { back: location.hash })}>
          Sign in to join
        </a>
      )}
    </div>
  );
}
