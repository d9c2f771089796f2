import { useQuery } from '@tanstack/react-query';
import { listSpacesOptions } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { Failure } from '../ui/explanation.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { ORDERS, type Order } from './orders.ts';
import { Section } from './section.tsx';
import { SpaceRow } from './space-row.tsx';

const SHOWN = 6;

/** The first public spaces in an order, with a link to all. */
export function SpaceList({ sort }: { sort: Order }) {
  const { name, hint } = ORDERS[sort];
  const { data, error, refetch } = useQuery(listSpacesOptions({ query: { sort } }));
  return (
    <Section
      heading={`${name} spaces`}
      noun={`${name.toLowerCase()} spaces`}
      all={addressOf('spaces', { sort })}
      hint={hint}
    >
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeletons count={SHOWN} height="7rem" />}
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
    </Section>
  );
}
