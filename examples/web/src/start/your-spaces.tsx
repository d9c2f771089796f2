import type { Participation } from 'space-service';
import { useParticipations } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { Failure } from '../ui/explanation.tsx';
import { Heading } from '../ui/heading.tsx';
import { Pages } from '../ui/pages.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { Section } from './section.tsx';
import { SpaceRow, SpaceTile } from './space-row.tsx';
import { Unread } from './unread.tsx';

const SHOWN = 6;

/** All spaces in which the signed-in user participates. */
export function YourSpaces() {
  return (
    <div className="column">
      <Heading title="Your spaces" />
      <h2 className="visually-hidden">Joined</h2>
      <Pages
        query={useParticipations().query}
        noun="space"
        skeleton={<Skeletons count={6} height="7rem" />}
        empty={
          <p className="empty">
            You have not joined a space yet. <a href="#/">Find one</a>, or{' '}
            <a href={addressOf('new-space')}>create your own</a>.
          </p>
        }
      >
        {({ space, unread_count, unread_mentions, last_message }) => (
          <SpaceRow
            key={space.space_id}
            space={space}
            badge={<Unread count={unread_count} mentions={unread_mentions} />}
            text={last_message && <LastMessage {...last_message} />}
          />
        )}
      </Pages>
    </div>
  );
}

/** Links to the first spaces of the signed-in user. */
export function RecentSpaces() {
  const { query, participations } = useParticipations();
  const { isSuccess, isPending, error, refetch } = query;
  return (
    <Section heading="Your spaces" noun="your spaces" all={addressOf('your-spaces')}>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {isPending && <Skeletons count={1} height="3.9rem" />}
      {isSuccess && participations.length === 0 && (
        <p className="empty">Join a space below, and it will be here when you come back.</p>
      )}
      <ul className="shortcuts">
        {participations.slice(0, SHOWN).map((participation) => (
          <Shortcut key={participation.space.space_id} {...participation} />
        ))}
      </ul>
    </Section>
  );
}

function Shortcut({ space, unread_count, unread_mentions, last_message }: Participation) {
  return (
    <li>
      <a href={addressOf('space', { id: space.space_id })}>
        <SpaceTile space={space} />
        <span>
          <bdi>{space.title}</bdi>
          {last_message && <LastMessage {...last_message} />}
        </span>
        <Unread count={unread_count} mentions={unread_mentions} />
      </a>
    </li>
  );
}

/** The beginning of a message, on one line. */
export function LastMessage({ author, text }: NonNullable<Participation['last_message']>) {
  return (
    <span className="last-message">
      <bdi>{author.username}</bdi>: <bdi>{text}</bdi>
    </span>
  );
}
