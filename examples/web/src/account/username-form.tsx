import { useMutation } from '@tanstack/react-query';
import { changeUsernameMutation } from 'space-service/tanstack-react-query';
import { Field, Form, textsOf } from '../ui/form.tsx';
import { showConfirmation } from '../ui/notice.tsx';

export const USERNAME_HINT = '2 to 64 letters, digits, “.”, “_”, “-” and single spaces.';

export function UsernameForm({ username }: { username: string }) {
  const change = useMutation({ ...changeUsernameMutation(), onSuccess: showConfirmation });
  return (
    <Form
      mutation={change}
      submit="Save username"
      appearance="secondary"
      variables={(fields) => ({ body: textsOf(fields, 'username') })}
    >
      <Field
        label="Username"
        name="username"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        dir="auto"
        defaultValue={username}
        hint={USERNAME_HINT}
      />
    </Form>
  );
}
