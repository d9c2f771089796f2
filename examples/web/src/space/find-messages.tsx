import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Message, Space } from 'space-service';
import { listMessagesInfiniteOptions } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { DialogButton } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { Pages } from '../ui/pages.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { formatDate } from '../words.ts';

/** Time without a keystroke before a search. */
const TYPING_PAUSE_MS = 150;

/** A button that finds messages of a space by their words. Each result leads to its place in the conversation. */
export function FindMessages({ space }: { space: Space }) {
  return (
    <DialogButton
      label={<Icon name="search" />}
      name="Find messages"
      className="icon-button"
      title="Find messages"
    >
      {(close) => <Search space={space} onClose={close} />}
    </DialogButton>
  );
}

function Search({ space, onClose }: { space: Space; onClose: () => void }) {
  const [text, setText] = useState('');
  const q = useSettled(text.trim());
  return (
    <>
      <input
        type="search"
        aria-label="Words of a message"
        placeholder={'Words, or a "phrase"'}
        autoComplete="off"
        spellCheck={false}
        dir="auto"
        maxLength={200}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {q && <Results space={space} q={q} onOpen={onClose} />}
      <div className="buttons">
        <button type="button" className="secondary" onClick={onClose}>
          Close
        </button>
      </div>
    </>
  );
}

/** Returns a value once it has not changed for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

interface ResultsProps {
  space: Space;
  q: string;
  onOpen: () => void;
}

function Results({ space: { space_id }, q, onOpen }: ResultsProps) {
  const query = useInfiniteQuery({
    ...listMessagesInfiniteOptions({ query: { space_id, q } }),
    // Results stay until those of the next letter are there.
    placeholderData: keepPreviousData,
  });
  return (
    <Pages
      query={query}
      noun="message"
      className="lines"
      skeleton={<Skeletons count={3} height="3rem" />}
      empty={<p className="empty">No message has these words.</p>}
    >
      {(message) => (
        <li key={message.message_id}>
          <Result message={message} onOpen={onOpen} />
        </li>
      )}
    </Pages>
  );
}

function Result({ message, onOpen }: { message: Message; onOpen: () => void }) {
  const { space_id, message_id, author, text, created_at } = message;
  return (
    <a href={addressOf('space', { id: space_id, message: message_id })} onClick={onOpen}>
      <span className="hint found-author">
        {author.username} on {formatDate(created_at)}
      </span>
      <span className="found-text" dir="auto">
        {text}
      </span>
    </a>
  );
}
