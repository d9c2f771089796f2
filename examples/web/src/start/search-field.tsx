import { useEffect, useRef, useState } from 'react';
import { addressOf, replaceView } from '../navigation.ts';
import { Icon } from '../ui/icon.tsx';

/** Time without a keystroke before a search. */
const TYPING_PAUSE_MS = 150;

/** Searches while people type. The query is in the address, so it can be reloaded and shared. */
export function SearchField({ query, isAsTyped }: { query: string; isAsTyped: boolean }) {
  const [text, setText] = useState(query);
  const [lastQuery, setLastQuery] = useState(query);
  const input = useRef<HTMLInputElement>(null);
  // A link or the Back button has changed the address.
  if (query !== lastQuery) {
    setLastQuery(query);
    setText(query);
  }
  useEffect(() => {
    if (text === query) return;
    // The address is replaced, so that not every keystroke is a step in the history.
    const open = () => replaceView(addressOf('', { q: text }));
    const timer = setTimeout(open, TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, query]);
  // After the link “Search only for …”, people continue with the query.
  useEffect(() => {
    if (isAsTyped) input.current?.focus();
  }, [isAsTyped]);
  return (
    <search>
      <form className="search-form" onSubmit={(event) => event.preventDefault()}>
        <Icon name="search" />
        <input
          ref={input}
          type="search"
          aria-label="Search spaces by text or tag"
          placeholder="Search spaces"
          autoComplete="off"
          spellCheck={false}
          dir="auto"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </form>
    </search>
  );
}
