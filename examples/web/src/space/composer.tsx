import { type FormEvent, useRef } from 'react';
import { Counter, charactersLeft } from '../ui/counter.tsx';
import { Icon } from '../ui/icon.tsx';

const MAX_CODE_POINTS = 2000;

interface ComposerProps {
  draft: string;
  setDraft: (text: string) => void;
  onSend: (text: string) => void;
}

/** The field for a new message. Enter sends it, Shift+Enter begins a new line. */
export function Composer({ draft, setDraft, onSend }: ComposerProps) {
  const form = useRef<HTMLFormElement>(null);
  const left = charactersLeft(draft, { max: MAX_CODE_POINTS });
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (draft.trim() === '' || left < 0) return;
    onSend(draft);
    setDraft('');
  }
  return (
    <form ref={form} className="composer" onSubmit={submit}>
      <Counter id="characters-left" left={left} max={MAX_CODE_POINTS} />
      <textarea
        aria-label="Message"
        aria-describedby="characters-left"
        aria-invalid={left < 0}
        placeholder="Write a message"
        rows={1}
        dir="auto"
        enterKeyHint="send"
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          // While text is composed, such as Japanese, Enter chooses a word.
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          form.current?.requestSubmit();
        }}
      />
      <button type="submit">
        <Icon name="send" />
        <span className="visually-hidden">Send</span>
      </button>
    </form>
  );
}
