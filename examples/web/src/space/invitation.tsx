import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Space } from 'space-service';
import { getSpaceQueryKey, renewInvitationCodeMutation } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { showFailure, showNotice } from '../ui/notice.tsx';

/** The invitation link of a private space, which only its creator sees. */
export function Invitation({ space: { space_id }, code }: { space: Space; code: string }) {
  const queryClient = useQueryClient();
  const renew = useMutation({
    ...renewInvitationCodeMutation(),
    onSuccess: (changed) => {
      queryClient.setQueryData(getSpaceQueryKey({ path: { space_id } }), changed);
      showNotice('The old link no longer works.');
    },
    onError: showFailure,
  });
  const page = location.href.split('#')[0];
  const link = page + addressOf('space', { id: space_id, invitation: code });
  // Browsers allow it only on secure origins. The link can also be copied from the field.
  const copy = () =>
    navigator.clipboard.writeText(link).then(
      () => showNotice('The link has been copied.'),
      () => showNotice('Copy the link from the field.'),
    );
  return (
    <section aria-label="Invitation">
      <h2>Invitation</h2>
      <input
        aria-label="Invitation link"
        readOnly
        value={link}
        onFocus={(event) => event.target.select()}
      />
      <p className="buttons">
        {navigator.clipboard && (
          <button type="button" className="small" onClick={copy}>
            Copy link
          </button>
        )}
        <button
          type="button"
          className="secondary small"
          onClick={() => renew.mutate({ path: { space_id } })}
        >
          Renew link
        </button>
      </p>
    </section>
  );
}
