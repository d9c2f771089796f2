import { useMutation } from '@tanstack/react-query';
import { changeBioMutation } from 'space-service/tanstack-react-query';
import { useDraft } from '../ui/draft.ts';
import { Field, Form, textsOf } from '../ui/form.tsx';
import { showNotice } from '../ui/notice.tsx';

export function BioForm({ bio }: { bio: string }) {
  // Kept when the user looks at another view before saving.
  const { draft, change: setDraft, discard } = useDraft('bio', bio);
  const change = useMutation({
    ...changeBioMutation(),
    onSuccess: ({ message }) => {
      discard();
      showNotice(message);
    },
  });
  return (
    <Form
      mutation={change}
      submit="Save bio"
      appearance="secondary"
      variables={(fields) => ({ body: textsOf(fields, 'bio') })}
    >
      <Field
        label="Bio"
        name="bio"
        rows={4}
        limit={{ max: 500, unit: 'grapheme' }}
        defaultValue={draft}
        onText={setDraft}
        hint="Who you are, in a few words."
      />
    </Form>
  );
}
