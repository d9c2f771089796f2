import { pages, searchSpaces, searchSpacesByTag } from 'space-service';
import { client } from './api.ts';
import { spaceCard } from './cards.ts';
import { find } from './dom.ts';
import type { View } from './navigation.ts';
import { fillOnScroll } from './scrolling.ts';

/** The service rejects longer texts. `SearchAPI` shortens them in the same way. */
const MAX_QUERY_CODE_POINTS = 200;

const view = find('#spaces');

/** All results of one search: by `tag`, or by the text `q`. */
export const spacesView: View = {
  show(parameters, signal) {
    const tag = parameters.get('tag');
    const text = parameters.get('q')?.trim() ?? '';
    const q = Array.from(text).slice(0, MAX_QUERY_CODE_POINTS).join('');
    const as_typed = parameters.has('as_typed') || undefined;
    find('h1', view).textContent = tag === null ? `Spaces about “${q}”` : `Spaces tagged “${tag}”`;
    const results = pages(
      (cursor) =>
        tag === null
          ? searchSpaces({ client, signal, query: { q, as_typed, cursor } })
          : searchSpacesByTag({ client, signal, path: { tag }, query: { cursor } }),
      signal,
    );
    // Browsers would resolve these tags as relative path segments.
    const isUnsearchable = tag === '.' || tag === '..';
    return fillOnScroll(view, 'space', isUnsearchable ? [] : results, spaceCard, signal);
  },
};
