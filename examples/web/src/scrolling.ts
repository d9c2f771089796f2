import { find, quantity } from './dom.ts';
import { showFailure } from './errors.ts';

/** Distance from the end of a list at which the next page is requested. */
const PRELOAD_MARGIN = '400px';

/**
 * Fills the list in a view. Requests the next page when the reader comes near the end.
 * @param noun what the items are, for the status below the list, such as `space`
 * @param pages returned by `pages` of the client, with the same `signal`
 */
export async function fillOnScroll<Item>(
  view: HTMLElement,
  noun: string,
  pages: AsyncIterable<Item[]> | Iterable<Item[]>,
  createItem: (item: Item) => HTMLElement,
  signal: AbortSignal,
): Promise<void> {
  const list = find('.list', view);
  const status = find('.list-status', view);
  list.replaceChildren();
  status.textContent = 'Loading …';
  try {
    for await (const items of pages) {
      list.append(...items.map(createItem));
      status.textContent = `${quantity(list.childElementCount, noun)} loaded.`;
      await becomesVisible(status, signal);
    }
    const count = list.childElementCount;
    status.textContent = count === 0 ? `No ${noun}s.` : `${quantity(count, noun)}.`;
  } catch (error) {
    if (signal.aborted) return;
    status.textContent = '';
    showFailure(error);
  }
}

/** Resolves when an element is visible, or nearly. Rejects when the signal aborts. */
function becomesVisible(element: HTMLElement, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        observer.disconnect();
        resolve();
      },
      { rootMargin: PRELOAD_MARGIN },
    );
    observer.observe(element);
    signal.addEventListener('abort', () => {
      observer.disconnect();
      reject(signal.reason);
    });
  });
}
