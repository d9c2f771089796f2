/** The focused element and those that contain it, innermost first. */
let path: HTMLElement[] = [];

/**
 * Moves the focus to the nearest remaining part of the page when the focused element disappears, such as a deleted
 * message. Otherwise, keyboards and screen readers would begin again at the top.
 */
export function keepFocus(root: HTMLElement): void {
  root.addEventListener('focusin', ({ target }) => {
    path = [];
    for (let each = target as HTMLElement; each !== root; each = each.parentElement ?? root) {
      path.push(each);
    }
  });
  new MutationObserver(() => {
    if (document.activeElement !== document.body || path[0]?.isConnected !== false) return;
    const remaining = path.find(({ isConnected }) => isConnected);
    path = [];
    remaining?.setAttribute('tabindex', remaining.getAttribute('tabindex') ?? '-1');
    remaining?.focus({ preventScroll: true });
  }).observe(root, { childList: true, subtree: true });
}
