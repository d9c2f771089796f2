import { useQuery } from '@tanstack/react-query';
import { listSpacesOptions } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';

const MAX_TAGS = 10;

/** Links to the tags of the most popular spaces. */
export function PopularTags() {
  const { data } = useQuery(listSpacesOptions({ query: { sort: 'popular' } }));
  const names = data?.items.flatMap(({ tags }) => tags.slice(0, 1).map((tag) => tag.tag_name));
  return (
    <ul className="tags" aria-label="Popular tags">
      {[...new Set(names)].slice(0, MAX_TAGS).map((name) => (
        <li key={name}>
          <a href={addressOf('spaces', { tag: name })} dir="auto">
            {name}
          </a>
        </li>
      ))}
    </ul>
  );
}
