import { useQuery } from '@tanstack/react-query';
import { listSpacesOptions } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { Failure } from '../ui/explanation.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { SpaceRow } from './space-row.tsx';

const SHOWN = 6;

interface SpaceListProps {
  heading: string;
  query: { sort: 'popular' | 'newest' };
}

/** The first public spaces in an order, with a link to all. */
export function SpaceList({ heading, query }: SpaceListProps) {
  const { data, error, refetch } = useQuery(listSpacesOptions({ query }));
  return (
    <section aria-label={`${heading} spaces`}>
      <header className="section-header">
        <h2>{heading}</h2>
        <a href={addressOf('spaces', query)}>
          Show all<span className="visually-hidden"> {heading.toLowerCase()} spaces</span>
        </a>
      </header>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeletons count={SHOWN} className="row-skeleton" />}
      {data?.items.length === 0 && (
        <p className="empty">
          There is no space yet. <a href={addressOf('new-space')}>Create the first one.</a>
        </p>
      )}
      <ul className="list">
        {data?.items.slice(0, SHOWN).map((space) => (
          <SpaceRow key={space.space_id} space={space} />
        ))}
      </ul>
    </section>
  );
}
