import { type FormEvent, useId, useRef } from 'react';
import { Counter, charactersLeft } from '../ui/counter.tsx';
import { Icon } from '../ui/icon.tsx';
import { MentionField } from './mention-field.tsx';

const MAX_CODE_POINTS = 2000;

interface ComposerProps {
  draft: string;
  setDraft: (text: string) => void;
  onSend: (text: string) => void;
  /** What the text is. */
  label?: string;
  /** With it, the field has the focus, and Escape ends it. */
  onCancel?: () => void;
}

/** The field for a new or edited message. Enter sends it, Shift+Enter begins a new line. */
export function Composer(props: ComposerProps) {
  const { draft, setDraft, onSend, label = 'Message', onCancel } = props;
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const left = charactersLeft(draft, { max: MAX_CODE_POINTS });
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (draft.trim() === '' || left < 0) return;
    setDraft('');
    onSend(draft);
  }
  return (
    <form ref={form} className="composer" onSubmit={submit}>
      <Counter id={id} left={left} max={MAX_CODE_POINTS} />
      <MentionField
        aria-label={label}
        aria-describedby={id}
        // The button of the edit had the focus.
        autoFocus={!!onCancel}
        aria-invalid={left < 0}
        placeholder="Write a message"
        rows={1}
        dir="auto"
        enterKeyHint="send"
        value={draft}
        onChange={setDraft}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onCancel?.();
          // While text is composed, such as Japanese, Enter chooses a word.
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          form.current?.requestSubmit();
        }}
      />
      {onCancel ? (
        <>
          <button type="submit" className="small">
            Save
          </button>
          <button type="button" className="secondary small" onClick={onCancel}>
            Cancel
          </button>
        </>
      ) : (
        <button type="submit" className="send">
          <Icon name="send" />
          <span className="visually-hidden">Send</span>
        </button>
      )}
    </form>
  );
}
