import { useMutation } from '@tanstack/react-query';
import { blockUserMutation, unblockUserMutation } from 'space-service/tanstack-react-query';
import { showFailure, showNotice } from '../ui/notice.tsx';

interface BlockButtonProps {
  user: { user_id: string; username: string };
  isBlocked: boolean;
}

/** A button that blocks a user, or ends that. */
export function BlockButton({ user: { user_id, username }, isBlocked }: BlockButtonProps) {
  const block = useMutation({
    ...blockUserMutation(),
    onSuccess: () => showNotice(`Messages of ${username} are hidden. Only you know.`),
    onError: showFailure,
  });
  const unblock = useMutation({
    ...unblockUserMutation(),
    onSuccess: () => showNotice(`Messages of ${username} are shown again.`),
    onError: showFailure,
  });
  const label = isBlocked ? 'Unblock' : 'Block';
  return (
    <button
      type="button"
      className="secondary small"
      aria-label={`${label} ${username}`}
      onClick={() => (isBlocked ? unblock : block).mutate({ path: { user_id } })}
    >
      {label}
    </button>
  );
}
