import type { Space } from 'space-service';

/** Whether the reader is the creator or a moderator of a space. */
export function canModerate({ participation }: Space): boolean {
  return participation?.role === 'creator' || participation?.role === 'moderator';
}

/** Whether the reader can send messages to a space, and edit their own. */
export function canWrite(space: Space): boolean {
  return space.participation !== null && (space.posting === 'participants' || canModerate(space));
}
