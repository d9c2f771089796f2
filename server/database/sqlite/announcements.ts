import cluster from 'node:cluster';
import { EventEmitter } from 'node:events';
import { ANNOUNCEMENTS } from '../announcements.ts';
import type { Engine } from '../engine.ts';

/** Announcements of this time share a message, so that many writers cause few of them. */
const SEND_INTERVAL_MS = 10;

interface AnnouncementsMessage {
  [ANNOUNCEMENTS]: string[];
}

export interface Announcements extends Pick<Engine, 'announceEvent' | 'onEvent'> {
  close(): void;
}

/** Announces events to this process at once, and to other workers through the supervisor. */
export function openAnnouncements(): Announcements {
  const events = new EventEmitter<{ event: [subject: string] }>();
  const unsent = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  function send(): void {
    timer = undefined;
    const message: AnnouncementsMessage = { [ANNOUNCEMENTS]: [...unsent] };
    unsent.clear();
    // The empty callback ignores errors: others find the events by their own polls.
    process.send?.(message, () => {});
  }

  function receive(message: Partial<AnnouncementsMessage>): void {
    for (const subject of message[ANNOUNCEMENTS] ?? []) events.emit('event', subject);
  }

  if (cluster.isWorker) process.on('message', receive);
  return {
    announceEvent(subject) {
      events.emit('event', subject);
      if (!cluster.isWorker) return;
      unsent.add(subject);
      timer ??= setTimeout(send, SEND_INTERVAL_MS);
    },
    onEvent: (listener) => void events.on('event', listener),
    close() {
      clearTimeout(timer);
      process.off('message', receive);
    },
  };
}
