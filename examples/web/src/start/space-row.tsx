import type { CSSProperties, ReactNode } from 'react';
import type { SearchResult, Tag } from 'space-service';
import { addressOf } from '../navigation.ts';
import { Icon } from '../ui/icon.tsx';
import { quantity } from '../words.ts';

interface SpaceRowProps {
  space: SearchResult;
  badge?: ReactNode;
  /** By default, the description. */
  text?: ReactNode;
}

/** A space in a list. */
export function SpaceRow({ space, badge, text }: SpaceRowProps) {
  return (
    <li className="row">
      <SpaceTile space={space} />
      <div>
        <h3>
          <a className="row-title" href={addressOf('space', { id: space.space_id })}>
            <bdi>{space.title}</bdi>
          </a>
          {space.visibility !== 'public' && (
            <span className="private">
              <Icon name="lock" />
              <span className="visually-hidden">, private</span>
            </span>
          )}
          {badge}
        </h3>
        {(text || space.description) && (
          <p className="description">{text || <bdi>{space.description}</bdi>}</p>
        )}
        <div className="meta">
          <span>{quantity(space.participant_count, 'participant')}</span>
          <Tags tags={space.tags} />
        </div>
      </div>
    </li>
  );
}

/** The first letter of a space on a color of its own. */
export function SpaceTile({ space }: { space: Pick<SearchResult, 'space_id' | 'title'> }) {
  const [letter = ''] = space.title.match(/[\p{L}\p{N}]/u) ?? [...space.title];
  const code = [...space.space_id].reduce((sum, each) => sum + each.charCodeAt(0), 0);
  return (
    <span
      className="tile"
      style={{ '--hue': (code % 6) * 60 + 5 } as CSSProperties}
      aria-hidden="true"
    >
      {letter.toUpperCase()}
    </span>
  );
}

/** Links to all spaces with each tag. */
export function Tags({ tags }: { tags: Tag[] }) {
  if (tags.length === 0) return null;
  return (
    <ul className="tags" aria-label="Tags">
      {tags.map(({ tag_name }) => (
        <li key={tag_name}>
          <a href={addressOf('spaces', { tag: tag_name })} dir="auto">
            {tag_name}
          </a>
        </li>
      ))}
    </ul>
  );
}
