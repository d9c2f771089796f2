import { pages, searchSpaces, searchSpacesByTag } from 'space-service';
import { client } from './api.ts';
import { spaceCard } from './cards.ts';
import { find } from './dom.ts';
import type { View } from './navigation.ts';
import { fillOnScroll } from './scrolling.ts';

const view = find('#spaces');

/** All results of one search: by `tag`, or by the text `q`. */
export const spacesView: View = {
  show(parameters, signal) {
    const tag = parameters.get('tag');
    const q = parameters.get('q') ?? '';
    const as_typed = parameters.has('as_typed') || undefined;
    find('h1', view).textContent = tag === null ? `Spaces about “${q}”` : `Spaces tagged “${tag}”`;
    const results = pages(
      (cursor) =>
        tag === null
          ? searchSpaces({ client, signal, query: { q, as_typed, cursor } })
          : searchSpacesByTag({ client, signal, path: { tag }, query: { cursor } }),
      signal,
    );
    return fillOnScroll(view, 'space', results, spaceCard, signal);
  },
};
