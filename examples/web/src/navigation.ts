import { find } from './dom.ts';

/**
 * A view of the page. Its address is the part of the URL after `#`, so any server of static files can serve the page.
 */
export interface View {
  /**
   * Fills the view.
   * @param parameters of the address
   * @param signal aborts when another view is shown
   */
  show(parameters: URLSearchParams, signal: AbortSignal): void | Promise<void>;
}

/** Opens a view, with a short message above it, which screen readers announce. */
export function openView(address: string, message = ''): void {
  history.pushState(null, '', address);
  showView(message);
}

/** Opens a view instead of the current one, to which the Back button does not return. */
export function replaceView(address: string, message: string): void {
  history.replaceState(null, '', address);
  showView(message);
}

function showView(message: string): void {
  // Changes of the history do not dispatch it.
  window.dispatchEvent(new Event('hashchange'));
  find('#notice').textContent = message;
}
