import { useMutation } from '@tanstack/react-query';
import { loginMutation } from 'space-service/tanstack-react-query';
import { addressOf, openView } from '../navigation.ts';
import { startSession } from '../session.ts';
import { Field, Form, textOf } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { deviceName } from './device-name.ts';

/** @param back the address that needs a session, which is opened afterwards */
export function SignIn({ back }: { back: string | null }) {
  const login = useMutation({
    ...loginMutation(),
    onSuccess: ({ access_token }) => {
      openView(safeAddress(back));
      startSession(access_token);
    },
  });
  return (
    <div className="narrow">
      <Heading title="Sign in" />
      <div className="panel">
        <Form
          mutation={login}
          submit="Sign in"
          variables={(fields) => ({
            body: {
              email: textOf(fields, 'email'),
              password: textOf(fields, 'password'),
              device_name: deviceName(),
            },
          })}
        >
          <Field label="Email address" name="email" type="email" autoComplete="email" />
          <Field label="Password" name="password" type="password" autoComplete="current-password" />
        </Form>
      </div>
      <p>
        New here? <a href={addressOf('sign-up', { back: back ?? undefined })}>Create an account</a>.
      </p>
    </div>
  );
}

/** Accepts only views of this page, because anybody can write an address. */
export function safeAddress(back: string | null): string {
  return back?.startsWith('#/') ? back : '#/';
}
