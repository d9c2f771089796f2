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
  const isSearching = query.trim() !== '';
  const isAsTyped = parameters.has('as_typed');
  // Results and the spaces of a user are more important than a welcome.
  const isWelcome = !isSearching && !isSignedIn;
  return (
    <div className="start">
      <section className="hero" aria-label="Search">
        <Heading title="Find your space" className={isWelcome ? undefined : 'visually-hidden'} />
        {isWelcome && <p>Rooms for one subject each. Read along, or join and write.</p>}
        <SearchField query={query} isAsTyped={isAsTyped} />
        <TagSuggestions prefix={[...query.trim()].slice(0, 30).join('')} />
      </section>
      {isSearching ? (
        <SearchResults query={query} isAsTyped={isAsTyped} />
      ) : (
        <>
          {isSignedIn && <RecentSpaces />}
          <div className="columns">
            <SpaceList sort="popular" />
            <SpaceList sort="newest" />
          </div>
        </>
      )}
    </div>
  );
}
