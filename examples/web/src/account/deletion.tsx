import { useMutation } from '@tanstack/react-query';
import { deleteAccountMutation } from 'space-service/tanstack-react-query';
import { openView } from '../navigation.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { showNotice } from '../ui/notice.tsx';
import { Panel } from '../ui/panel.tsx';

export function Deletion() {
  const deletion = useMutation({
    ...deleteAccountMutation(),
    onSuccess: ({ message }) => {
      openView('#/');
      showNotice(message);
    },
  });
  return (
    <Panel title="Delete account">
      <p>Your account, the spaces you created and all your messages are deleted permanently.</p>
      <Confirmation
        label="Delete account …"
        className="danger"
        title="Delete your account?"
        consequences="This cannot be undone. Your spaces and messages are deleted, too."
        confirm="Delete"
        cancel="Keep account"
        mutation={deletion}
        variables={{}}
      />
    </Panel>
  );
}
