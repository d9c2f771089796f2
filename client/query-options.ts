import type {
  DataTag,
  InfiniteData,
  QueryFunction,
  QueryKey,
  UseInfiniteQueryOptions,
  UseQueryOptions,
} from '@tanstack/react-query';

// The functions of the same names in TanStack Query return types that become `queryFn?: … | undefined` in declaration
// files. With the compiler's `exactOptionalPropertyTypes`, no hook accepts that.

/** The options of a query. Its key has the type of its data. */
export type QueryOptions<Data, Error, Selected, Key extends QueryKey> = Omit<
  UseQueryOptions<Data, Error, Selected, Key>,
  'queryFn' | 'queryKey'
> & { queryFn: QueryFunction<Data, Key>; queryKey: DataTag<Key, Data, Error> };

/** The options of an infinite query. Its key has the type of its data. */
export type InfiniteQueryOptions<Data, Error, Selected, Key extends QueryKey, PageParam> = Omit<
  UseInfiniteQueryOptions<Data, Error, Selected, Key, PageParam>,
  'queryFn' | 'queryKey'
> & {
  queryFn: QueryFunction<Data, Key, PageParam>;
  queryKey: DataTag<Key, InfiniteData<Data>, Error>;
};

export function queryOptions<Data, Error, Selected, Key extends QueryKey>(
  options: Omit<QueryOptions<Data, Error, Selected, Key>, 'queryKey'> & { queryKey: Key },
): QueryOptions<Data, Error, Selected, Key> {
  return options as QueryOptions<Data, Error, Selected, Key>;
}

export function infiniteQueryOptions<Data, Error, Selected, Key extends QueryKey, PageParam>(
  options: Omit<InfiniteQueryOptions<Data, Error, Selected, Key, PageParam>, 'queryKey'> & {
    queryKey: Key;
  },
): InfiniteQueryOptions<Data, Error, Selected, Key, PageParam> {
  return options as InfiniteQueryOptions<Data, Error, Selected, Key, PageParam>;
}
