import { useInfiniteQuery } from '@tanstack/react-query';
import type { Participation } from 'space-service';
import { listParticipationsInfiniteOptions } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { Failure } from '../ui/explanation.tsx';
import { Heading } from '../ui/heading.tsx';
import { Pages } from '../ui/pages.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { REFRESH_MS, useRecentParticipations } from './participations.ts';
import { Section } from './section.tsx';
import { SpaceRow, SpaceTile } from './space-row.tsx';
import { Unread } from './unread.tsx';

const SHOWN = 6;

/** All spaces in which the signed-in user participates. */
export function YourSpaces() {
  const participations = useInfiniteQuery({
    ...listParticipationsInfiniteOptions({ query: { sort: 'recent' } }),
    refetchInterval: REFRESH_MS,
  });
  return (
    <div className="column">
      <Heading title="Your spaces" />
      <h2 className="visually-hidden">Joined</h2>
      <Pages
        query={participations}
        noun="space"
        skeleton={<Skeletons count={6} height="7rem" />}
        empty={
          <p className="empty">
            You have not joined a space yet. <a href="#/">Find one</a>, or{' '}
            <a href={addressOf('new-space')}>create your own</a>.
          </p>
        }
      >
        {({ space, unread_count }) => (
          <SpaceRow key={space.space_id} space={space} badge={<Unread count={unread_count} />} />
        )}
      </Pages>
    </div>
  );
}

/** Links to the first spaces of the signed-in user. */
export function RecentSpaces() {
  const { data, error, refetch } = useRecentParticipations();
  return (
    <Section heading="Your spaces" noun="your spaces" all={addressOf('your-spaces')}>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeletons count={1} height="3.9rem" />}
      {data?.items.length === 0 && (
        <p className="empty">Join a space below, and it will be here when you come back.</p>
      )}
      <ul className="shortcuts">
        {data?.items.slice(0, SHOWN).map((participation) => (
          <Shortcut key={participation.space.space_id} {...participation} />
        ))}
      </ul>
    </Section>
  );
}

function Shortcut({ space, unread_count }: Participation) {
  return (
    <li>
      <a href={addressOf('space', { id: space.space_id })}>
        <SpaceTile space={space} />
        <span>
          <bdi>{space.title}</bdi>
        </span>
        <Unread count={unread_count} />
      </a>
    </li>
  );
}
