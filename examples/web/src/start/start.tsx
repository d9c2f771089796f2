import { useIsSignedIn } from '../session.ts';
import { Heading } from '../ui/heading.tsx';
import { SearchField } from './search-field.tsx';
import { SearchResults } from './search-results.tsx';
import { SpaceList } from './space-list.tsx';
import { TagSuggestions } from './tag-suggestions.tsx';
import { RecentSpaces } from './your-spaces.tsx';

/** What everybody sees first: the search, and spaces to begin with. */
export function Start({ parameters }: { parameters: URLSearchParams }) {
  const isSignedIn = useIsSignedIn();
  const query = parameters.get('q') ?? '';
  const isAsTyped = parameters.has('as_typed');
  return (
    <div className="start">
      <section className="hero" aria-label="Search">
        <Heading title="Find your space" />
        <p>Rooms for one subject each. Read along, or join and write.</p>
        <SearchField query={query} isAsTyped={isAsTyped} />
        <TagSuggestions prefix={[...query.trim()].slice(0, 30).join('')} />
      </section>
      {query.trim() === '' ? (
        <>
          {isSignedIn && <RecentSpaces />}
          <div className="columns">
            <SpaceList heading="Popular" query={{ sort: 'popular' }} />
            <SpaceList heading="New" query={{ sort: 'newest' }} />
          </div>
        </>
      ) : (
        <SearchResults query={query} isAsTyped={isAsTyped} />
      )}
    </div>
  );
}
