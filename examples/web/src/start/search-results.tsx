import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { SearchError, type SearchResult } from 'space-service';
import { searchApi } from '../api.ts';
import { addressOf } from '../navigation.ts';
import { Failure } from '../ui/explanation.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { describeOther } from '../words.ts';
import { People } from './people.tsx';
import { Section } from './section.tsx';
import { SpaceRow } from './space-row.tsx';

interface Results {
  byText: SearchResult[] | null;
  byTag: SearchResult[] | null;
  /** The other query whose results follow; empty if there is none. */
  answeredQuery: string;
  error: unknown;
}

/** Searches by text and by tag. One of the two can fail. */
async function search(query: string, asTyped: boolean, signal: AbortSignal): Promise<Results> {
  let answeredQuery = '';
  const onAnsweredQuery = (other: string) => {
    answeredQuery = other;
  };
  let error: SearchError | undefined;
  const results = await searchApi
    .search(query, { signal, asTyped, onAnsweredQuery })
    .catch((reason) => {
      if (!(reason instanceof SearchError)) throw reason;
      error = reason;
      return reason;
    });
  const { generalSearchResults: byText, tagSearchResults: byTag } = results;
  return { byText, byTag, answeredQuery, error };
}

export function SearchResults({ query, isAsTyped }: { query: string; isAsTyped: boolean }) {
  const { data, isPlaceholderData, refetch } = useQuery({
    queryKey: ['search', query.trim(), isAsTyped],
    queryFn: ({ signal }) => search(query, isAsTyped, signal),
    // Results stay until those of the next letter are there.
    placeholderData: keepPreviousData,
  });
  if (!data) return <Skeletons count={4} height="7rem" />;
  const { byText, byTag, answeredQuery, error } = data;
  const as_typed = isAsTyped ? 'true' : undefined;
  return (
    <div aria-busy={isPlaceholderData} className="results">
      <p className="visually-hidden" role="status">
        {!isPlaceholderData && announcementOf(query, data)}
      </p>
      {!!error && <Failure error={error} onRetry={() => void refetch()} />}
      {answeredQuery && (
        <p className="correction">
          Also showing results for <strong dir="auto">{describeOther(query, answeredQuery)}</strong>
          . Search only for{' '}
          <a dir="auto" href={addressOf('', { q: query, as_typed: 'true' })}>
            {query.trim()}
          </a>
          .
        </p>
      )}
      {byText?.length === 0 && byTag?.length === 0 && (
        <p className="empty">No space has these words or this tag. Try fewer words.</p>
      )}
      <People query={query} />
      <div className="columns">
        <ResultList
          heading="By text"
          spaces={byText}
          all={addressOf('spaces', { q: query.trim(), as_typed })}
        />
        <ResultList
          heading="By tag"
          spaces={byTag}
          all={addressOf('spaces', { tag: query.trim() })}
        />
      </div>
    </div>
  );
}

interface ResultListProps {
  heading: string;
  spaces: SearchResult[] | null;
  all: string;
}

function ResultList({ heading, spaces, all }: ResultListProps) {
  if (!spaces?.length) return null;
  return (
    <Section heading={heading} noun={`spaces ${heading.toLowerCase()}`} all={all}>
      <ul className="list">
        {spaces.map((space) => (
          <SpaceRow key={space.space_id} space={space} />
        ))}
      </ul>
    </Section>
  );
}

/** Returns what screen readers announce after a search. */
function announcementOf(query: string, { byText, byTag, answeredQuery }: Results): string {
  const prefix = answeredQuery
    ? `Also showing results for ${describeOther(query, answeredQuery)}. `
    : '';
  // Of a failed search, the page shows the error.
  const counts = [
    ...(byText ? [`${byText.length} by text`] : []),
    ...(byTag ? [`${byTag.length} by tag`] : []),
  ];
  return counts.length === 0 ? '' : `${prefix}Spaces shown: ${counts.join(', ')}.`;
}
