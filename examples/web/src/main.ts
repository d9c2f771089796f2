import './style.css';
import { find } from './dom.ts';
import { hideFailure } from './errors.ts';
import type { View } from './navigation.ts';
import { profileView } from './profile.ts';
import { searchView } from './search.ts';
import { showSession } from './session.ts';
import { signInView, signUpView } from './sign-in.ts';
import { spaceView } from './space.ts';
import { spacesView } from './spaces.ts';

/** The views by the id of their element. The address of a view is its id, except for the first one: `#/`. */
const views = new Map<string, View>([
  ['search', searchView],
  ['spaces', spacesView],
  ['space', spaceView],
  ['sign-in', signInView],
  ['sign-up', signUpView],
  ['profile', profileView],
]);

let isFirstView = true;
/** Aborts when another view is shown. */
let viewController = new AbortController();

/** Shows the view of the current address. */
function showView(): void {
  viewController.abort();
  viewController = new AbortController();
  find('#notice').textContent = '';
  hideFailure();

  const [path = '', query = ''] = location.hash.replace('#/', '').split('?');
  const id = views.has(path) ? path : 'search';
  for (const each of views.keys()) find(`#${each}`).hidden = each !== id;
  for (const link of document.querySelectorAll<HTMLAnchorElement>('nav a')) {
    link.ariaCurrent = link.hash === `#/${id === 'search' ? '' : id}` ? 'page' : null;
  }
  const heading = find(`#${id} h1`);
  // Screen readers announce a loaded page, but not a change of its view.
  if (!isFirstView) moveTo(heading);
  isFirstView = false;
  views.get(id)?.show(new URLSearchParams(query), viewController.signal);
  document.title = `${heading.textContent} – Spaces`;
}

/** Moves the focus, so that keyboards and screen readers continue at the new view. */
function moveTo(element: HTMLElement): void {
  window.scrollTo(0, 0);
  element.focus();
}

find('.skip-link').addEventListener('click', (event) => {
  // `#main` is not the address of a view.
  event.preventDefault();
  moveTo(find('main'));
});
find('#failure button').addEventListener('click', showView);
window.addEventListener('hashchange', showView);
showSession();
showView();
