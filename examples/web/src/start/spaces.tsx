import { useInfiniteQuery } from '@tanstack/react-query';
import { listSpacesInfiniteOptions } from 'space-service/tanstack-react-query';
import { Heading } from '../ui/heading.tsx';
import { Pages } from '../ui/pages.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { describeOther } from '../words.ts';
import { ORDERS, type Order } from './orders.ts';
import { SpaceRow } from './space-row.tsx';

/** The service rejects longer texts. `SearchAPI` shortens them in the same way. */
const MAX_QUERY_CODE_POINTS = 200;

/** All spaces of one list: by tag, by text, or of all public ones. */
export function Spaces({ parameters }: { parameters: URLSearchParams }) {
  const query = queryOf(parameters);
  const spaces = useInfiniteQuery(listSpacesInfiniteOptions({ query }));
  const other = spaces.data?.pages[0]?.answered_query;
  return (
    <div className="column">
      <header>
        <Heading
          title={`${titleOf(query)}${other ? ` or ${describeOther(query.q ?? '', other, `“${other}”`)}` : ''}`}
        />
        {query.sort && <p className="hint">{ORDERS[query.sort].hint}</p>}
      </header>
      <h2 className="visually-hidden">Results</h2>
      <Pages
        query={spaces}
        noun="space"
        skeleton={<Skeletons count={8} height="7rem" />}
        empty={
          <p className="empty">
            No space is in this list. <a href="#/">Search for another one.</a>
          </p>
        }
      >
        {(space) => <SpaceRow key={space.space_id} space={space} />}
      </Pages>
    </div>
  );
}

interface Query {
  tag?: string;
  q?: string;
  as_typed?: boolean;
  sort?: Order;
}

function queryOf(parameters: URLSearchParams): Query {
  const tag = parameters.get('tag');
  if (tag !== null) return { tag };
  const text = parameters.get('q')?.trim();
  if (!text) return { sort: parameters.get('sort') === 'newest' ? 'newest' : 'popular' };
  const q = Array.from(text).slice(0, MAX_QUERY_CODE_POINTS).join('');
  return { q, as_typed: parameters.has('as_typed') || undefined };
}

function titleOf({ tag, q, sort = 'popular' }: Query): string {
  if (tag !== undefined) return `Spaces tagged “${tag}”`;
  if (q !== undefined) return `Spaces about “${q}”`;
  return `${ORDERS[sort].name} spaces`;
}
