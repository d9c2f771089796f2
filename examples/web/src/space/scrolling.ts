import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import type { Message } from 'space-service';

interface Scrolling {
  scroller: RefObject<HTMLElement | null>;
  list: RefObject<HTMLOListElement | null>;
  scrollToEnd(): void;
}

/**
 * Scrolls to the first unread message, or to the newest one, and tracks which messages are visible.
 * @param messages those of the list, oldest first
 * @param isReady whether the list contains the first unread message, if there is one
 * @param show is called with the newest message in the visible part of the list
 */
export function useScrolling(
  messages: Message[],
  isReady: boolean,
  show: (message: Message) => void,
): Scrolling {
  const scroller = useRef<HTMLElement>(null);
  const list = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => {
    if (isReady) list.current?.querySelector('.unread')?.scrollIntoView();
  }, [isReady]);
  // After each change of the list, too, which can move messages into the visible part.
  useEffect(() => {
    const element = scroller.current;
    if (!isReady || !element) return;
    const update = () => {
      const { bottom } = element.getBoundingClientRect();
      const elements = [...(list.current?.children ?? [])].slice(0, messages.length);
      const newest = elements.findLastIndex((each) => each.getBoundingClientRect().top < bottom);
      const message = messages[newest];
      if (message) show(message);
    };
    update();
    element.addEventListener('scroll', update, { passive: true });
    return () => element.removeEventListener('scroll', update);
  });
  function scrollToEnd(): void {
    // The scroll position is measured from the bottom.
    scroller.current?.scrollTo({ top: 0 });
  }
  return { scroller, list, scrollToEnd };
}
