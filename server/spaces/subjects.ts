// Subjects of `Engine.announceEvent`. Ids of the API contain no colon.

/** What waiting requests may return after an event. */
export type Subject =
  | { kind: 'space'; spaceId: string }
  | { kind: 'appreciations'; spaceId: string }
  | { kind: 'list'; userPk: number }
  | { kind: 'profile'; userPk: number };

/** Something has changed in a space. Concerns its readers and the lists of its participants. */
export function spaceSubject(spaceId: string): string {
  return `space:${spaceId}`;
}

/** The appreciations of messages in a space have changed, which lists do not show. */
export function appreciationsSubject(spaceId: string): string {
  return `appreciations:${spaceId}`;
}

/** The list of the spaces of a user has changed. */
export function listSubject(userPk: number): string {
  return `list:${userPk}`;
}

/** The profile of a user has changed, which the lists with spaces that the user has ever joined can show. */
export function profileSubject(userPk: number): string {
  return `profile:${userPk}`;
}

export function parseSubject(subject: string): Subject {
  const [kind, id = ''] = subject.split(':');
  if (kind === 'list' || kind === 'profile') return { kind, userPk: Number(id) };
  return { kind: kind === 'space' ? kind : 'appreciations', spaceId: id };
}
