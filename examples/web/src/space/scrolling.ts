import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import type { Message } from 'space-service';

interface Scrolled {
  /** Those of the list, oldest first. */
  messages: Message[];
  /** Whether the messages are loaded with which the list begins. */
  isReady: boolean;
  /** The message of a link, which is shown in the middle as soon as it is loaded. */
  linkedId: string | null;
  /** Whether newer messages remain to be loaded. */
  hasNewer: boolean;
  /** Called with the newest message in the visible part of the list. */
  show: (message: Message) => void;
}

interface Scrolling {
  scroller: RefObject<HTMLElement | null>;
  list: RefObject<HTMLOListElement | null>;
  scrollToEnd(): void;
  /** Shows the end of the list that is loaded next, instead of a message in it. */
  openAtEnd(): void;
}

/** Scrolls to the linked message, the first unread or the newest one, and tracks which messages are visible. */
export function useScrolling(scrolled: Scrolled): Scrolling {
  const { messages, isReady, linkedId, hasNewer, show } = scrolled;
  const scroller = useRef<HTMLElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const opensAtEnd = useRef(false);
  const isLinkLoaded = messages.some(({ message_id }) => message_id === linkedId);
  useLayoutEffect(() => {
    if (!isReady || opensAtEnd.current) return;
    list.current?.querySelector('.unread')?.scrollIntoView();
  }, [isReady]);
  useLayoutEffect(() => {
    if (!isReady) return;
    const linked = isLinkLoaded && document.getElementById(linkedId ?? '');
    if (linked && !opensAtEnd.current) {
      linked.scrollIntoView({ block: 'center' });
      linked.focus({ preventScroll: true });
    }
    opensAtEnd.current = false;
  }, [isReady, isLinkLoaded, linkedId]);
  // After each change of the list, too, which can move messages into the visible part.
  useEffect(() => {
    const element = scroller.current;
    if (!isReady || !element) return;
    const update = () => {
      // At its end, it would stay there when newer messages are loaded.
      if (hasNewer && element.scrollTop === 0) element.scrollTo({ top: -1 });
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
  return {
    scroller,
    list,
    scrollToEnd() {
      // The scroll position is measured from the bottom.
      scroller.current?.scrollTo({ top: 0 });
    },
    openAtEnd() {
      opensAtEnd.current = true;
    },
  };
}
