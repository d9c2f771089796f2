import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { listTagsOptions } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';

const MAX_TAGS = 6;

/** Links to the most used tags, or to those that begin with what has been typed. */
export function TagSuggestions({ prefix }: { prefix: string }) {
  const { data } = useQuery({
    ...listTagsOptions({ query: { prefix: prefix || undefined, limit: MAX_TAGS } }),
    placeholderData: keepPreviousData,
  });
  return (
    <ul className="tags" aria-label={prefix ? 'Matching tags' : 'Popular tags'}>
      {data?.items.map(({ tag_id, tag_name, space_count }) => (
        <li key={tag_id}>
          <a href={addressOf('spaces', { tag: tag_name })}>
            <bdi>{tag_name}</bdi> {space_count.toLocaleString('en')}
          </a>
        </li>
      ))}
    </ul>
  );
}
