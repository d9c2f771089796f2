import { useSyncExternalStore } from 'react';

/** The address of a view is the part of the URL after `#`, so any server of static files can serve the page. */
export interface Address {
  path: string;
  parameters: URLSearchParams;
}

let hasChanged = false;
/** The scroll positions of views that were left, by the keys in their history entries. */
const positions = new Map<number, number>();
let entry = currentEntry();
// Browsers restore the position before the view is rendered.
history.scrollRestoration = 'manual';
window.addEventListener('hashchange', () => {
  hasChanged = true;
  positions.set(entry, window.scrollY);
  entry = currentEntry();
});

/** Returns the key of the current history entry. A new entry gets one. */
function currentEntry(): number {
  if (history.state === null) history.replaceState(Math.random(), '');
  return history.state;
}

/** Returns where the reader was before; 0 for a view that the Back button has not returned to. */
export function lastScrollPosition(): number {
  return positions.get(entry) ?? 0;
}

/** Returns whether another view was shown before. Screen readers announce a loaded page, but not a change of its view. */
export function hasNavigated(): boolean {
  return hasChanged;
}

export function useAddress(): Address {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  return { path, parameters: new URLSearchParams(query) };
}

/** Returns an address such as `#/space?id=1`. Omits parameters that are undefined. */
export function addressOf(path: string, parameters: Record<string, string | undefined> = {}) {
  const defined = Object.entries(parameters).filter((each): each is [string, string] => !!each[1]);
  return defined.length === 0 ? `#/${path}` : `#/${path}?${new URLSearchParams(defined)}`;
}

export function openView(address: string): void {
  history.pushState(null, '', address);
  // Changes of the history do not dispatch it.
  window.dispatchEvent(new Event('hashchange'));
}

/** Opens a view instead of the current one, to which the Back button does not return. */
export function replaceView(address: string): void {
  history.replaceState(null, '', address);
  window.dispatchEvent(new Event('hashchange'));
}

/** Opens the sign-in instead of the current view, which needs a session. Returns to the view afterwards. */
export function askToSignIn(): void {
  replaceView(addressOf('sign-in', { back: location.hash }));
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener);
  return () => window.removeEventListener('hashchange', listener);
}
