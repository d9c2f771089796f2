import { useState } from 'react';
import { session } from '../session.ts';

/** The texts that have not been sent or saved, by what they are for. */
const drafts = new Map<string, string>();
let userId = session.userId();
session.subscribe(() => {
  if (session.userId() !== userId) drafts.clear();
  userId = session.userId();
});

/** Returns the text in a field, which is still there when the reader comes back to the view, until it is discarded. */
export function useDraft(key: string, initial = '') {
  const [draft, setDraft] = useState(drafts.get(key) ?? initial);
  function change(text: string): void {
    drafts.set(key, text);
    setDraft(text);
  }
  return { draft, change, discard: () => drafts.delete(key) };
}
