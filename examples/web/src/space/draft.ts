import { useState } from 'react';
import { onSessionChange } from '../session.ts';

/** The texts that have not been sent, by the ids of their spaces. */
const drafts = new Map<string, string>();
onSessionChange(() => drafts.clear());

/** Returns the text in the field for a message, which is still there when the reader comes back to the space. */
export function useDraft(spaceId: string): [string, (text: string) => void] {
  const [draft, setDraft] = useState(drafts.get(spaceId) ?? '');
  return [
    draft,
    (text) => {
      drafts.set(spaceId, text);
      setDraft(text);
    },
  ];
}
