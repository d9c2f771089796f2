import { pages, searchSpaces, searchSpacesByTag } from 'space-service';
import { hasSameWords } from './answered-query.ts';
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
    const heading = find('h1', view);
    heading.textContent = tag === null ? `Spaces about “${q}”` : `Spaces tagged “${tag}”`;
    const showOtherQuery = ({ response }: { response?: Response }) => {
      const header = response?.headers.get('Answered-Query');
      if (!header || signal.aborted) return;
      const other = decodeURIComponent(header);
      const description = hasSameWords(q, other) ? 'some of the words' : `“${other}”`;
      heading.textContent = `Spaces about “${q}” or ${description}`;
    };
    const results = pages((cursor) => {
      if (tag !== null) {
        return searchSpacesByTag({ client, signal, path: { tag }, query: { cursor } });
      }
      const page = searchSpaces({ client, signal, query: { q, as_typed, cursor } });
      // `fillOnScroll` shows failures. A malformed header is ignored, as by `SearchAPI`.
      page.then(showOtherQuery).catch(() => {});
      return page;
    }, signal);
    // Browsers would resolve these tags as relative path segments.
    const isUnsearchable = tag === '.' || tag === '..';
    return fillOnScroll(view, 'space', isUnsearchable ? [] : results, spaceCard, signal);
  },
};
