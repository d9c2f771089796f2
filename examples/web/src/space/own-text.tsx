import { useState } from 'react';
import type { Message } from 'space-service';
import { useMessageEdit } from 'space-service/tanstack-react-query';
import { explain } from '../errors.ts';
import { Composer } from './composer.tsx';
import { MessageText } from './message-text.tsx';

interface OwnTextProps {
  message: Message;
  isEdited: boolean;
  onEdit: () => void;
  onEnd: () => void;
}

/** The text of an own message, which is edited in its place. An edit that is not saved yet says so. */
export function OwnText({ message, isEdited, onEdit, onEnd }: OwnTextProps) {
  const { unsaved, edit, saveAgain, discard } = useMessageEdit(message);
  const text = unsaved?.text ?? message.text;
  if (isEdited) return <EditField text={text} onSave={edit} onEnd={onEnd} />;
  const { error, waitsFor } = unsaved ?? {};
  const status = waitsFor ? `Waiting to be saved. ${explain(waitsFor)}` : 'Saving …';
  return (
    <>
      <MessageText text={text} mentions={unsaved ? [] : message.mentions} />
      {unsaved && (
        <p role={error ? 'alert' : 'status'} className={error ? 'field-error' : 'hint'}>
          {error ? `Not saved. ${explain(error)}` : status}
        </p>
      )}
      {(error ?? waitsFor) && (
        <p className="buttons">
          {error?.isTemporary && (
            <button type="button" className="secondary small" onClick={saveAgain}>
              Save again
            </button>
          )}
          <button type="button" className="secondary small" onClick={onEdit}>
            Edit
          </button>
          <button type="button" className="secondary small" onClick={discard}>
            Discard
          </button>
        </p>
      )}
    </>
  );
}

interface EditFieldProps {
  text: string;
  onSave: (text: string) => void;
  onEnd: () => void;
}

function EditField({ text, onSave, onEnd }: EditFieldProps) {
  const [draft, setDraft] = useState(text);
  function save(edited: string): void {
    if (edited !== text) onSave(edited);
    onEnd();
  }
  return <Composer label="Text" draft={draft} setDraft={setDraft} onSend={save} onCancel={onEnd} />;
}
