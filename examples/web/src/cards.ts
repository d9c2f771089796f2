import type { SearchResult, UserSummary } from 'space-service';
import { copyTemplate, find, quantity } from './dom.ts';

/** Returns a list item for a space. */
export function spaceCard(space: SearchResult): HTMLElement {
  const card = copyTemplate('space-card');
  const link = find<HTMLAnchorElement>('.title a', card);
  link.href = `#/space?${new URLSearchParams({ id: space.space_id })}`;
  link.textContent = space.title;
  find('.description', card).textContent = space.description;
  find('.tags', card).append(...space.tags.map(({ tag_name }) => tagItem(tag_name)));
  showUser(find('.user', card), space.creator);
  find('.participants', card).textContent = quantity(space.participant_count, 'participant');
  return card;
}

/** Fills an element with the avatar and the name of a user. */
export function showUser(element: HTMLElement, { username, profile_picture }: UserSummary): void {
  find<HTMLImageElement>('img', element).src = profile_picture;
  find('bdi', element).textContent = username;
}

/** Returns a list item for a tag, with a link to all spaces that have it. */
export function tagItem(tag: string): HTMLElement {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = tagAddress(tag);
  link.textContent = tag;
  link.dir = 'auto';
  item.append(link);
  return item;
}

/** Returns the address of the list of all spaces with a tag. */
export function tagAddress(tag: string): string {
  return `#/spaces?${new URLSearchParams({ tag })}`;
}
