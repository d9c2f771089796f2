import { useQuery } from '@tanstack/react-query';
import { listSpacesOptions } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { Failure } from '../ui/explanation.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { ORDERS, type Order } from './orders.ts';
import { SpaceRow } from './space-row.tsx';

const SHOWN = 6;

/** The first public spaces in an order, with a link to all. */
export function SpaceList({ sort }: { sort: Order }) {
  const { name, hint } = ORDERS[sort];
  const { data, error, refetch } = useQuery(listSpacesOptions({ query: { sort } }));
  return (
    <section aria-label={`${name} spaces`}>
      <header className="section-header">
        <h2>{name}</h2>
        <a href={addressOf('spaces', { sort })}>
          Show all<span className="visually-hidden"> {name.toLowerCase()} spaces</span>
        </a>
        <p className="hint">{hint}</p>
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
