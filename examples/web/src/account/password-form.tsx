import { useMutation } from '@tanstack/react-query';
import { changePasswordMutation } from 'space-service/tanstack-react-query';
import { Field, Form, textsOf } from '../ui/form.tsx';
import { showConfirmation } from '../ui/notice.tsx';
import { Panel } from '../ui/panel.tsx';

export function PasswordForm({ email }: { email: string }) {
  const change = useMutation({ ...changePasswordMutation(), onSuccess: showConfirmation });
  return (
    <Panel title="Password">
      <Form
        mutation={change}
        submit="Change password"
        resets
        variables={(fields) => ({ body: textsOf(fields, 'currentPassword', 'newPassword') })}
      >
        {/* Tells password managers which account the new password is for. */}
        <input type="email" autoComplete="username" value={email} readOnly hidden />
        <Field
          label="Current password"
          name="currentPassword"
          type="password"
          autoComplete="current-password"
        />
        <Field
          label="New password"
          name="newPassword"
          type="password"
          autoComplete="new-password"
          hint="At least 8 characters. All other devices are signed out. Access tokens remain valid."
        />
      </Form>
    </Panel>
  );
}
