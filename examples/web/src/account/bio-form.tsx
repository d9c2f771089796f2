import { useMutation } from '@tanstack/react-query';
import { changeBioMutation } from 'space-service/tanstack-react-query';
import { Field, Form, textOf } from '../ui/form.tsx';
import { showNotice } from '../ui/notice.tsx';

export function BioForm({ bio }: { bio: string }) {
  const change = useMutation({
    ...changeBioMutation(),
    onSuccess: ({ message }) => showNotice(message),
  });
  return (
    <Form
      mutation={change}
      submit="Save bio"
      appearance="secondary"
      variables={(fields) => ({ body: { bio: textOf(fields, 'bio') } })}
    >
      <Field
        label="Bio"
        name="bio"
        rows={4}
        limit={{ max: 500, unit: 'grapheme' }}
        defaultValue={bio}
        hint="Who you are, in a few words."
      />
    </Form>
  );
}
