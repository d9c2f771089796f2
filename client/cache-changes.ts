import type { Query, QueryClient, QueryFilters } from '@tanstack/react-query';

// biome-ignore lint/suspicious/noExplicitAny: the data of all queries.
type Change = (data: any) => any;

/** The changes during the running fetch of each query, by its hash. */
type Changes = Map<string, Change[]>;

const changesOf = new WeakMap<QueryClient, Changes>();

/**
 * Changes the cached data of queries. If a query is being fetched, changes the fetched data, too: it can be older than the
 * change, and the pages of an infinite list are those that the list had when its fetch began.
 * @param change must be idempotent
 */
export function changeCached<Data>(
  queryClient: QueryClient,
  filters: QueryFilters,
  change: (data: Data) => Data,
): void {
  const changes = changesDuringFetches(queryClient);
  for (const query of queryClient.getQueryCache().findAll(filters)) {
    const { queryHash, state } = query;
    if (state.fetchStatus !== 'idle') {
      changes.set(queryHash, [...(changes.get(queryHash) ?? []), change]);
    }
    apply(queryClient, query, change);
  }
}

function changesDuringFetches(queryClient: QueryClient): Changes {
  const known = changesOf.get(queryClient);
  if (known) return known;
  const changes: Changes = new Map();
  changesOf.set(queryClient, changes);
  queryClient.getQueryCache().subscribe((event) => {
    const { queryHash, state } = event.query;
    if (event.type === 'removed') changes.delete(queryHash);
    if (event.type !== 'updated' || state.fetchStatus !== 'idle') return;
    const missed = changes.get(queryHash) ?? [];
    changes.delete(queryHash);
    if (event.action.type !== 'success') return;
    for (const change of missed) apply(queryClient, event.query, change);
  });
  return changes;
}

/** Not with a new time of update, because the change does not make older data fresh. */
function apply(queryClient: QueryClient, { queryKey, state }: Query, change: Change): void {
  queryClient.setQueryData(
    queryKey,
    (data: unknown) => (data === undefined ? undefined : change(data)),
    { updatedAt: state.dataUpdatedAt },
  );
}
