import { useMutation } from '@tanstack/react-query';
import { registerMutation } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { Field, Form, textsOf } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { showNotice } from '../ui/notice.tsx';
import { deviceName } from './device-name.ts';
import { useReturn } from './sign-in.tsx';
import { USERNAME_HINT } from './username-form.tsx';

/** @param back the address that needs a session, which is opened afterwards */
export function SignUp({ back }: { back: string | null }) {
  useReturn(back);
  const register = useMutation({
    ...registerMutation(),
    onSuccess: (_session, { body }) => showNotice(`Welcome, ${body.username}.`),
  });
  return (
    <div className="narrow">
      <Heading title="Create an account" />
      <div className="panel">
        <Form
          mutation={register}
          submit="Create account"
          variables={(fields) => ({
            body: {
              ...textsOf(fields, 'username', 'email', 'password'),
              device_name: deviceName(),
            },
          })}
        >
          <Field
            label="Username"
            name="username"
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
            dir="auto"
            hint={`${USERNAME_HINT} Others see it.`}
          />
          <Field
            label="Email address"
            name="email"
            type="email"
            autoComplete="email"
            hint="You sign in with it. Others do not see it."
          />
          <Field
            label="Password"
            name="password"
            type="password"
            autoComplete="new-password"
            hint="At least 8 characters. A few words are better than symbols."
          />
        </Form>
      </div>
      <p>
        Already registered? <a href={addressOf('sign-in', { back: back ?? undefined })}>Sign in</a>.
      </p>
    </div>
  );
}
