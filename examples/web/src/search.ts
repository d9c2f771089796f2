import { type CombinedSearchResults, SearchError, type SearchResult } from 'space-service';
import { hasSameWords } from './answered-query.ts';
import { searchApi } from './api.ts';
import { spaceCard, tagAddress } from './cards.ts';
import { find } from './dom.ts';
import { hideFailure, showFailure } from './errors.ts';
import type { View } from './navigation.ts';

/** Time without a keystroke before a search. */
const TYPING_PAUSE_MS = 150;

const input = find<HTMLInputElement>('#query');
const correction = find('#correction');

let typingPause = 0;
/** Aborts the requests of a search whose results are no longer wanted. */
let searchController = new AbortController();

export const searchView: View = {
  show(parameters, signal) {
    signal.addEventListener('abort', cancelSearch);
    const isAsTyped = parameters.has('as_typed');
    // After the link “Search only for …”, people continue with the query.
    if (isAsTyped) input.focus();
    input.value = parameters.get('q') ?? '';
    return search(input.value, isAsTyped);
  },
};

input.addEventListener('input', () => {
  cancelSearch();
  typingPause = window.setTimeout(() => {
    // The address can be reloaded and shared. It is replaced, so that not every keystroke is a step in the history.
    history.replaceState(null, '', textAddress('#/', input.value));
    search(input.value);
  }, TYPING_PAUSE_MS);
});

// Results appear while the user types, so Enter has nothing to do.
find('#search-form').addEventListener('submit', (event) => event.preventDefault());

function cancelSearch(): void {
  clearTimeout(typingPause);
  searchController.abort();
}

async function search(query: string, isAsTyped = false): Promise<void> {
  cancelSearch();
  searchController = new AbortController();
  const { signal } = searchController;
  let answeredQuery = '';
  const onAnsweredQuery = (other: string) => {
    answeredQuery = other;
  };
  let results: CombinedSearchResults | SearchError;
  try {
    results = await searchApi.search(query, { signal, asTyped: isAsTyped, onAnsweredQuery });
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof SearchError)) throw error;
    // One of the two searches may have succeeded.
    results = error;
  }
  // A newer search has replaced this one.
  if (signal.aborted) return;
  if (results instanceof SearchError) showFailure(results.cause);
  else hideFailure();
  showResults(query, isAsTyped, results);
  showCorrection(query, answeredQuery);
  find('#search-status').textContent = query.trim()
    ? announcementOf(query, results, answeredQuery)
    : '';
}

function showResults(
  query: string,
  isAsTyped: boolean,
  { generalSearchResults: byText, tagSearchResults: byTag }: CombinedSearchResults | SearchError,
): void {
  const isBlank = query.trim() === '';
  find('#search-intro').hidden = !isBlank;
  find('#search-results').hidden = isBlank;
  fillSection(find('#by-text'), byText, textAddress('#/spaces', query, isAsTyped));
  fillSection(find('#by-tag'), byTag, tagAddress(query.trim()));
}

/**
 * Shows the first page of a search, with a link to all results.
 * @param spaces null if the search failed
 */
function fillSection(section: HTMLElement, spaces: SearchResult[] | null, address: string): void {
  section.hidden = spaces === null;
  section.classList.toggle('empty', spaces?.length === 0);
  find('.list', section).replaceChildren(...(spaces ?? []).map(spaceCard));
  find<HTMLAnchorElement>('.all', section).href = address;
}

function showCorrection(query: string, answeredQuery: string): void {
  correction.hidden = answeredQuery === '';
  find('.answered', correction).textContent = describeOther(query, answeredQuery);
  const link = find<HTMLAnchorElement>('a', correction);
  link.href = textAddress('#/', query, true);
  link.textContent = query;
}

function describeOther(query: string, answeredQuery: string): string {
  return hasSameWords(query, answeredQuery) ? 'some of the words' : answeredQuery;
}

/** Returns what screen readers announce after a search. */
function announcementOf(
  query: string,
  { generalSearchResults, tagSearchResults }: CombinedSearchResults | SearchError,
  answeredQuery: string,
): string {
  const prefix = answeredQuery
    ? `Also showing results for ${describeOther(query, answeredQuery)}. `
    : '';
  // Of a failed search, the page shows the error.
  const counts = [
    ...(generalSearchResults ? [`${generalSearchResults.length} by text`] : []),
    ...(tagSearchResults ? [`${tagSearchResults.length} by tag`] : []),
  ];
  return counts.length === 0 ? '' : `${prefix}Spaces shown: ${counts.join(', ')}.`;
}

function textAddress(path: string, query: string, isAsTyped = false): string {
  const parameters = new URLSearchParams({ q: query });
  if (isAsTyped) parameters.set('as_typed', 'true');
  return `${path}?${parameters}`;
}
