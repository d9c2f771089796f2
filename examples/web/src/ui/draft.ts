import { useState } from 'react';
import { session } from '../session.ts';

/** The texts that have not been sent or saved, by what they are for. */
const drafts = new Map<string, string>();
session.subscribe(() => {
  if (session.status() === 'signed-out') drafts.clear();
});

/** Returns the text in a field, which is still there when the reader comes back to the view. */
export function useDraft(key: string, initial = ''): [string, (text: string) => void] {
  const [draft, setDraft] = useState(drafts.get(key) ?? initial);
  return [
    draft,
    (text) => {
      if (text === initial) drafts.delete(key);
      else drafts.set(key, text);
      setDraft(text);
    },
  ];
}
