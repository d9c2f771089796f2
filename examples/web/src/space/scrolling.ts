import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { Message } from 'space-service';

interface Scrolling {
  scroller: RefObject<HTMLElement | null>;
  list: RefObject<HTMLOListElement | null>;
  /** The newest message that is or was in the visible part of the list. */
  shown: Message | undefined;
  scrollToEnd(): void;
}

/**
 * Scrolls to the first unread message, or to the newest one, and tracks which messages are visible.
 * @param items the messages of the list, oldest first
 * @param isReady whether the list contains the first unread message, if there is one
 */
export function useScrolling(items: Message[], isReady: boolean): Scrolling {
  const scroller = useRef<HTMLElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const [shown, setShown] = useState<Message>();
  const hasBegun = useRef(false);
  useLayoutEffect(() => {
    if (!isReady || hasBegun.current) return;
    hasBegun.current = true;
    list.current?.querySelector('.unread')?.scrollIntoView();
  }, [isReady]);
  // After each change of the list, too, which can move messages into the visible part.
  useEffect(() => {
    const update = () => {
      if (!hasBegun.current || !scroller.current || !list.current) return;
      const { bottom } = scroller.current.getBoundingClientRect();
      const elements = [...list.current.children].slice(0, items.length);
      const newest =
        items[elements.findLastIndex((each) => each.getBoundingClientRect().top < bottom)];
      setShown((before) =>
        newest && newest.created_at > (before?.created_at ?? '') ? newest : before,
      );
    };
    update();
    const element = scroller.current;
    element?.addEventListener('scroll', update, { passive: true });
    return () => element?.removeEventListener('scroll', update);
  });
  function scrollToEnd(): void {
    // The scroll position is measured from the bottom.
    scroller.current?.scrollTo({ top: 0 });
  }
  return { scroller, list, shown, scrollToEnd };
}
