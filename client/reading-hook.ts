import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import {
  getParticipationOptions,
  markReadMutation,
} from '../generated/@tanstack/react-query.gen.ts';
import type { Client } from '../generated/client/index.ts';
import type { Message } from '../generated/types.gen.ts';
import { putParticipation } from './participation-cache.ts';
import { repeated } from './repeated-mutations.ts';
import { forCurrentUser } from './session-hooks.ts';

/** How long a message is shown until it counts as read. */
const READING_MS = 1_500;

/** Pause between requests. In a lively conversation, one for each message would soon use up the reader's quota. */
const MARKING_INTERVAL_MS = 20_000;

export interface ReadingOptions {
  /** Whether the reader participates in the space; true by default. */
  enabled?: boolean | undefined;
  /** By default, the exported `client`. */
  client?: Client | undefined;
}

/**
 * Marks messages as read up to the one that has been shown for a moment. In a hidden tab, nothing is shown.
 * @param shown the newest message that is or was in the visible part of the list
 * @returns until when the space was read before this visit, as the time of a message; undefined while this is loading,
 *   null if the reader does not participate or it cannot be loaded
 */
export function useReadPosition(
  spaceId: string,
  shown: Message | undefined,
  { enabled = true, client }: ReadingOptions = {},
): string | null | undefined {
  const queryClient = useQueryClient();
  const optionsOf = (space_id: string) => getParticipationOptions({ client, path: { space_id } });
  const { data, isError, isPlaceholderData } = useQuery({ ...optionsOf(spaceId), enabled });
  const [visit, setVisit] = useState<{ spaceId: string; readUntil: string }>();
  if (data && !isPlaceholderData && visit?.spaceId !== spaceId) {
    setVisit({ spaceId, readUntil: data.read_until });
  }

  const { mutate } = useMutation({
    ...repeated(queryClient, markReadMutation({ client })),
    // Those of a space one after the other, so that the last response has the latest position.
    scope: { id: `markRead ${spaceId}` },
    onMutate: () => forCurrentUser(queryClient),
    onSuccess: (participation, _variables, ifSameUser) =>
      ifSameUser(() => putParticipation(queryClient, participation)),
  });
  const mark = useRef<(message: Message) => boolean>(() => false);
  mark.current = ({ space_id, message_id, created_at }) => {
    // After a sign-out, the cache is empty.
    const participation = queryClient.getQueryData(optionsOf(space_id).queryKey);
    if (!participation || participation.read_until >= created_at) return false;
    mutate({ path: { space_id }, body: { message_id } });
    return true;
  };
  const marker = useRef<ReadMarker>(undefined);
  useEffect(() => {
    const created = createReadMarker((message) => mark.current(message));
    marker.current = created;
    return () => created.end();
  }, [spaceId]);
  const isVisible = useSyncExternalStore(
    subscribeToVisibility,
    () => !document.hidden,
    () => true,
  );
  // The delay of messages that are visible before the read position is loaded starts when it is loaded.
  const readUntil = visit?.spaceId === spaceId ? visit.readUntil : undefined;
  const isShown = enabled && isVisible && readUntil !== undefined && shown?.space_id === spaceId;
  const visible = isShown ? shown : undefined;
  useEffect(() => marker.current?.show(visible), [visible, spaceId]);
  if (!enabled || isError) return null;
  return readUntil;
}

interface ReadMarker {
  /** Another message is shown, or none. */
  show(message: Message | undefined): void;
  /** The reader leaves. */
  end(): void;
}

/** @param mark marks a message that has been shown for long enough. Returns false if it was read already. */
function createReadMarker(mark: (message: Message) => boolean): ReadMarker {
  /** The messages that have been shown since the last request, oldest first. */
  let views: { message: Message; since: number }[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let earliest = 0;
  const isRead = ({ since }: { since: number }) => Date.now() - since >= READING_MS;
  function markRead(): void {
    const read = views.filter(isRead).at(-1);
    views = views.filter((view) => !isRead(view));
    if (read && mark(read.message)) earliest = Date.now() + MARKING_INTERVAL_MS;
    schedule();
  }
  function schedule(): void {
    clearTimeout(timer);
    const [first] = views;
    if (!first) return;
    const due = Math.max(first.since + READING_MS, earliest);
    timer = setTimeout(markRead, due - Date.now());
  }
  return {
    show(message) {
      if (!message) views = views.filter(isRead);
      else if (views.at(-1)?.message !== message) views.push({ message, since: Date.now() });
      schedule();
    },
    end() {
      clearTimeout(timer);
      // After the first mark, the reader has kept up, so messages that became visible during the delay count, too.
      const read = views.filter((view) => earliest > 0 || isRead(view)).at(-1);
      if (read) mark(read.message);
    },
  };
}

function subscribeToVisibility(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener);
  return () => document.removeEventListener('visibilitychange', listener);
}
