import { useQuery } from '@tanstack/react-query';
import { listTagsOptions } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';

const MAX_TAGS = 10;

/** Links to the most used tags. */
export function PopularTags() {
  const { data } = useQuery(listTagsOptions({ query: { limit: MAX_TAGS } }));
  return (
    <ul className="tags" aria-label="Popular tags">
      {data?.items.map(({ tag_id, tag_name }) => (
        <li key={tag_id}>
          <a href={addressOf('spaces', { tag: tag_name })} dir="auto">
            {tag_name}
          </a>
        </li>
      ))}
    </ul>
  );
}
