import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import {
  getServerOptions,
  loginMutation,
  useSessionStatus,
} from 'space-service/tanstack-react-query';
import { addressOf, openView, replaceView } from '../navigation.ts';
import { useProfile } from '../profile.ts';
import { session, useIsSignedIn } from '../session.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Field, Form, textsOf } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { deviceName } from './device-name.ts';

/** @param back the address that needs a session, which is opened afterwards */
export function SignIn({ back }: { back: string | null }) {
  useReturn(back);
  const { data: server } = useQuery(getServerOptions());
  return (
    <div className="narrow">
      <Heading title="Sign in" />
      <div className="panel">
        <SignInForm />
      </div>
      {server?.sends_mail && (
        <p>
          <a href={addressOf('forgot-password')}>Forgot your password?</a>
        </p>
      )}
      <p>
        New here? <a href={addressOf('sign-up', { back: back ?? undefined })}>Create an account</a>.
      </p>
    </div>
  );
}

/** Asks to sign in again without leaving the view, so that nothing is lost that has been typed. */
export function ExpiredSession() {
  const email = useProfile()?.email;
  if (useSessionStatus() !== 'expired') return null;
  return (
    <Dialog title="Your session has ended. Sign in again.">
      <SignInForm
        email={email}
        buttons={
          <button
            type="button"
            className="secondary"
            onClick={() => {
              openView('#/');
              session.end();
            }}
          >
            Sign out
          </button>
        }
      />
    </Dialog>
  );
}

function SignInForm({ email, buttons }: { email?: string; buttons?: React.ReactNode }) {
  return (
    <Form
      mutation={useMutation(loginMutation())}
      submit="Sign in"
      buttons={buttons}
      variables={(fields) => ({
        body: { ...textsOf(fields, 'email', 'password'), device_name: deviceName() },
      })}
    >
      <Field
        label="Email address"
        name="email"
        type="email"
        autoComplete="email"
        defaultValue={email}
      />
      <Field label="Password" name="password" type="password" autoComplete="current-password" />
    </Form>
  );
}

/** Opens the address as soon as there is a session, also if it begins in another tab. */
export function useReturn(back: string | null): void {
  const isSignedIn = useIsSignedIn();
  useEffect(() => {
    // Only views of this page, because anybody can write an address.
    if (isSignedIn) replaceView(back?.startsWith('#/') ? back : '#/');
  }, [isSignedIn, back]);
}
