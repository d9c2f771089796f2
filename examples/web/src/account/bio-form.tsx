import { useMutation } from '@tanstack/react-query';
import { changeBioMutation } from 'space-service/tanstack-react-query';
import { Field, Form, textOf } from '../ui/form.tsx';
import { showNotice } from '../ui/notice.tsx';
import { Panel } from '../ui/panel.tsx';

export function BioForm({ bio }: { bio: string }) {
  const change = useMutation({
    ...changeBioMutation(),
    onSuccess: ({ message }) => showNotice(message),
  });
  return (
    <Panel title="Bio">
      <Form
        mutation={change}
        submit="Save bio"
        variables={(fields) => ({ body: { bio: textOf(fields, 'bio') } })}
      >
        <Field
          label="About you"
          name="bio"
          rows={4}
          defaultValue={bio}
          hint="At most 500 characters. Other signed-in users see it."
        />
      </Form>
    </Panel>
  );
}
