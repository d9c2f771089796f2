import { useMutation } from '@tanstack/react-query';
import { resetPasswordMutation } from 'space-service/tanstack-react-query';
import { codeOf } from '../errors.ts';
import { addressOf, replaceView } from '../navigation.ts';
import { session } from '../session.ts';
import { Field, Form, textsOf } from '../ui/form.tsx';
import { Heading } from '../ui/heading.tsx';
import { showNotice } from '../ui/notice.tsx';

/** @param token of the link in a mail, which can belong to another account than the session */
export function ResetPassword({ token }: { token: string }) {
  const reset = useMutation({
    ...resetPasswordMutation(),
    onSuccess: ({ message }) => {
      session.end();
      // The Back button must not return to the used link.
      replaceView(addressOf('sign-in'));
      showNotice(message);
    },
  });
  return (
    <div className="narrow">
      <Heading title="Choose a new password" />
      <div className="panel">
        <Form
          mutation={reset}
          submit="Change password"
          variables={(fields) => ({ body: { token, ...textsOf(fields, 'newPassword') } })}
        >
          <Field
            label="New password"
            name="newPassword"
            type="password"
            autoComplete="new-password"
            hint="At least 8 characters. You are signed out everywhere, and the access tokens of your programs are revoked."
          />
        </Form>
      </div>
      {codeOf(reset.error) === 'invalid_token' && (
        <p>
          <a href={addressOf('forgot-password')}>Send another link</a>
        </p>
      )}
    </div>
  );
}
