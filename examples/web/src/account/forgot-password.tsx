import { useMutation } from '@tanstack/react-query';
import { requestPasswordResetMutation } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { Field, Form, textsOf } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';

export function ForgotPassword() {
  const request = useMutation(requestPasswordResetMutation());
  return (
    <div className="narrow">
      <Heading title="Forgot your password?" />
      <div className="panel">
        <Form
          mutation={request}
          submit="Send a link"
          variables={(fields) => ({ body: textsOf(fields, 'email') })}
        >
          <Field
            label="Email address"
            name="email"
            type="email"
            autoComplete="email"
            hint="You get a link to choose a new password."
          />
        </Form>
        <p role="status">{request.data?.message}</p>
      </div>
      <p>
        <a href={addressOf('sign-in')}>Back to sign in</a>
      </p>
    </div>
  );
}
