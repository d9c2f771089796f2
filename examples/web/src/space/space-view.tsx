import { useQuery } from '@tanstack/react-query';
import type { Space } from 'space-service';
import { getSpaceOptions } from 'space-service/tanstack-react-query';
import { codeOf } from '../errors.ts';
import { addressOf } from '../navigation.ts';
import { SpaceTile } from '../start/space-row.tsx';
import { Failure } from '../ui/explanation.tsx';
import { Heading } from '../ui/heading.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { quantity } from '../words.ts';
import { About } from './about.tsx';
import { Conversation } from './conversation.tsx';
import { FindMessages } from './find-messages.tsx';
import { InvitedView } from './invited-view.tsx';

/** One space: its conversation, and everything about it. On phones, it shows one of both. */
export function SpaceView({ id, parameters }: { id: string; parameters: URLSearchParams }) {
  const query = useQuery(getSpaceOptions({ path: { space_id: id } }));
  const { data: space, error, refetch } = query;
  const invitation = parameters.get('invitation');
  const isMissing = codeOf(error) === 'space_not_found';
  if (isMissing && invitation) return <InvitedView id={id} code={invitation} />;
  if (error && (!space || isMissing)) {
    return (
      <div className="narrow">
        <Heading title={space?.title ?? 'This space cannot be shown'} />
        {space ? (
          // It was there before.
          <p className="failure" role="alert">
            You can no longer read this space. It has been deleted, or you have been removed.
          </p>
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )}
        <p>
          <a className="button secondary" href="#/">
            Find another space
          </a>
        </p>
      </div>
    );
  }
  if (!space) {
    return (
      <div className="column">
        <Heading title="Loading …" className="visually-hidden" />
        <Skeletons count={1} height="2rem" />
        <Skeletons count={5} height="4rem" />
      </div>
    );
  }
  const shown = parameters.get('view') ?? 'conversation';
  return (
    <div className="space" data-shown={shown}>
      <SpaceHeader space={space} shown={shown} />
      <section className="conversation" aria-label="Conversation">
        <Conversation space={space} linkedId={parameters.get('message')} onAccessChange={refetch} />
      </section>
      <About space={space} />
    </div>
  );
}

function SpaceHeader({ space, shown }: { space: Space; shown: string }) {
  const { space_id, title, visibility, participant_count } = space;
  return (
    <header className="space-header">
      <SpaceTile space={space} />
      <div>
        <Heading title={title} />
        <p className="hint">
          {visibility === 'public' ? 'Public' : 'Private'} ·{' '}
          {quantity(participant_count, 'participant')}
        </p>
      </div>
      <FindMessages space={space} />
      <a
        className="button secondary small narrow-only"
        href={addressOf('space', { id: space_id, view: shown === 'about' ? undefined : 'about' })}
      >
        {shown === 'about' ? 'Messages' : 'About'}
      </a>
    </header>
  );
}
