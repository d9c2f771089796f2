import { useEffect, useRef } from 'react';
import { hasNavigated, lastScrollPosition } from '../navigation.ts';
import { shorten, useUnreadCount } from '../start/unread.tsx';

/** The heading of a view. It gets the focus, so that keyboards and screen readers continue at a new view. */
export function Heading({ title, className }: { title: string; className?: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!hasNavigated()) return;
    window.scrollTo(0, lastScrollPosition());
    heading.current?.focus({ preventScroll: true });
  }, []);
  const unread = useUnreadCount();
  useEffect(() => {
    document.title = `${unread > 0 ? `(${shorten(unread)}) ` : ''}${title} – Spaces`;
  }, [title, unread]);
  return (
    <h1 ref={heading} className={className} tabIndex={-1} dir="auto">
      {title}
    </h1>
  );
}
