import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import type { SessionSummary } from 'space-service';
import {
  endSessionMutation,
  listSessionsInfiniteOptions,
} from 'space-service/tanstack-react-query';
import { FormFailure } from '../ui/explanation.tsx';
import { showConfirmation } from '../ui/notice.tsx';
import { Pages } from '../ui/pages.tsx';
import { Panel } from '../ui/panel.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { formatDate, formatTime } from '../words.ts';

/** Where the account is signed in. */
export function Sessions() {
  const sessions = useInfiniteQuery(listSessionsInfiniteOptions());
  return (
    <Panel title="Sessions">
      <Pages
        query={sessions}
        noun="session"
        className="lines"
        skeleton={<Skeletons count={1} height="2rem" />}
        empty={null}
      >
        {(session) => <SessionLine key={session.session_id} session={session} />}
      </Pages>
    </Panel>
  );
}

function SessionLine({ session }: { session: SessionSummary }) {
  const { session_id, created_at, last_used_at, device_name, is_current } = session;
  const end = useMutation({ ...endSessionMutation(), onSuccess: showConfirmation });
  const started = `${formatDate(created_at)}, ${formatTime(created_at)}`;
  return (
    <li>
      <div>
        <p dir="auto">{device_name || 'Unnamed device'}</p>
        <p className="hint">
          Started {started}. Last used {formatDate(last_used_at)}.
        </p>
        <FormFailure error={end.error} />
      </div>
      {is_current ? (
        <span className="badge">This device</span>
      ) : (
        <button
          type="button"
          className="secondary small"
          aria-label={`End the session that started ${started}`}
          onClick={() => end.mutate({ path: { session_id } })}
        >
          End
        </button>
      )}
    </li>
  );
}
