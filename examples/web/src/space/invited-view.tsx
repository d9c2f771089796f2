import { useMutation } from '@tanstack/react-query';
import { joinSpaceMutation } from 'space-service/tanstack-react-query';
import { addressOf, replaceView } from '../navigation.ts';
import { useIsSignedIn } from '../session.ts';
import { Form } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';

/** What the invitation link of a private space shows to somebody who does not participate yet. */
export function InvitedView({ id, code }: { id: string; code: string }) {
  const isSignedIn = useIsSignedIn();
  const join = useMutation({
    ...joinSpaceMutation(),
    onSuccess: () => replaceView(addressOf('space', { id })),
  });
  return (
    <div className="narrow">
      <Heading title="You are invited" />
      <div className="panel">
        <p>
          This is a private space. You see its name and its messages after joining. Its participants
          can read everything that is written in it.
        </p>
        {isSignedIn ? (
          <Form
            mutation={join}
            submit="Join space"
            variables={() => ({ path: { space_id: id }, body: { invitation_code: code } })}
          />
        ) : (
          <p className="buttons">
            <a className="button" href={addressOf('sign-in', { back: location.hash })}>
              Sign in to join
            </a>
          </p>
        )}
      </div>
    </div>
  );
}
