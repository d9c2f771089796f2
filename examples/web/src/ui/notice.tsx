import { useEffect, useSyncExternalStore } from 'react';
import { explain, isExplained } from '../errors.ts';

const SHOWN_MS = 8_000;
const listeners = new Set<() => void>();
let notice = '';

/** Shows a short message above all views, which screen readers announce. It replaces the one before. */
export function showNotice(text: string): void {
  notice = text;
  for (const listener of listeners) listener();
}

/** Shows what the service has confirmed. */
export function showConfirmation({ message }: { message: string }): void {
  showNotice(message);
}

/** Shows why a request has failed that has no form. */
export function showFailure(error: unknown): void {
  if (isExplained(error)) showNotice(explain(error));
}

export function Notice() {
  const text = useSyncExternalStore(subscribe, () => notice);
  useEffect(() => {
    if (text === '') return;
    const timer = setTimeout(() => showNotice(''), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div className="notice" role="status">
      {text && <p>{text}</p>}
    </div>
  );
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
