import { useMutation, useQuery } from '@tanstack/react-query';
import type { Profile } from 'space-service';
import {
  changeEmailMutation,
  getServerOptions,
  requestEmailVerificationMutation,
} from 'space-service/tanstack-react-query';
import { Field, Form, textsOf } from '../ui/form.tsx';
import { showConfirmation } from '../ui/notice.tsx';
import { Panel } from '../ui/panel.tsx';

/** Changes and verifies the address. Both need mail, which not every server sends. */
export function EmailForm({ profile: { email, is_verified } }: { profile: Profile }) {
  const { data: server } = useQuery(getServerOptions());
  const change = useMutation({ ...changeEmailMutation(), onSuccess: showConfirmation });
  if (!server?.sends_mail) return null;
  return (
    <Panel title="Email address">
      <p>
        {email} {is_verified ? <span className="badge">Verified</span> : '(not verified)'}
      </p>
      {!is_verified && <Verification />}
      <Form
        mutation={change}
        submit="Change address"
        resets
        variables={(fields) => ({ body: textsOf(fields, 'email', 'currentPassword') })}
      >
        <Field
          label="New email address"
          name="email"
          type="email"
          autoComplete="email"
          hint="You get a link there. Your address changes when you open it."
        />
        <Field
          label="Your password"
          name="currentPassword"
          type="password"
          autoComplete="current-password"
        />
      </Form>
    </Panel>
  );
}

function Verification() {
  const request = useMutation({
    ...requestEmailVerificationMutation(),
    onSuccess: showConfirmation,
  });
  return (
    <Form
      mutation={request}
      submit="Send another link"
      appearance="secondary"
      variables={() => ({})}
    />
  );
}
