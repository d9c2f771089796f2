import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { followMessages } from 'space-service';
import { dropMessage, putMessage } from 'space-service/tanstack-react-query';

/** Pause between updates, which bounds their rate even if a server does not wait. */
const PAUSE_MS = 200;

/**
 * Follows a space: updates the cache when messages are sent, changed or deleted.
 * @param newerCursor of the first page of messages; undefined while it is loading
 * @param onLost called when the reader has lost access to the space
 */
export function useLiveMessages(
  spaceId: string,
  newerCursor: string | undefined,
  onLost: () => void,
): void {
  const queryClient = useQueryClient();
  const position = useRef(newerCursor);
  position.current ??= newerCursor;
  const isLoaded = newerCursor !== undefined;
  useEffect(() => {
    if (!isLoaded) return;
    let controller = new AbortController();
    const restart = () => {
      controller.abort();
      controller = new AbortController();
      const { signal } = controller;
      follow(queryClient, spaceId, position, signal).catch(() => {
        if (!signal.aborted) onLost();
      });
    };
    restart();
    // At once, because a request of the lost connection may never end.
    window.addEventListener('online', restart);
    return () => {
      controller.abort();
      window.removeEventListener('online', restart);
    };
  }, [queryClient, spaceId, isLoaded, onLost]);
}

async function follow(
  queryClient: QueryClient,
  space_id: string,
  position: { current: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  for await (const update of followMessages({ space_id, after: position.current, signal })) {
    for (const message of [...update.items, ...update.changed_items]) {
      putMessage(queryClient, message);
    }
    for (const message_id of update.deleted_message_ids) {
      dropMessage(queryClient, { space_id, message_id });
    }
    position.current = update.newer_cursor;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
