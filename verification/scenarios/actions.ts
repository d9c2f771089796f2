import type { Body, Caller, User } from './caller.ts';

export type Space = Body<'getSpace'>;
export type Message = Body<'getMessage'>;
export type Stats = Body<'getProfile'>['stats'];

/** Creates a space of the user, a public one by default. */
export function createSpace(user: User, fields: object = {}): Promise<Space> {
  return user.call('createSpace', {
    title: 'Space of the contract check',
    description: '',
    visibility: 'public',
    tags: [],
    ...fields,
  });
}

/** Makes users participants in a space. A private space must be as its creator sees it. */
export async function join(space: Space, ...users: User[]): Promise<void> {
  const invitation_code = space.invitation_code ?? undefined;
  for (const user of users) {
    await user.call('joinSpace', { space_id: space.space_id, invitation_code });
  }
}

export function send(user: Caller, { space_id }: Space, text = 'Hello there!'): Promise<Message> {
  return user.call('sendMessage', { space_id, text });
}

/** Returns a space with these participants besides its creator, and a message of each user in it. */
export async function createConversation(
  creator: User,
  visibility: 'public' | 'private',
  ...participants: User[]
): Promise<{ space: Space; messages: Message[] }> {
  const space = await createSpace(creator, { visibility });
  await join(space, ...participants);
  const messages: Message[] = [];
  for (const user of [creator, ...participants]) messages.push(await send(user, space));
  return { space, messages };
}

export async function statsOf(user: User): Promise<Stats> {
  return (await user.call('getProfile')).stats;
}

/** Returns the space with its current data, as the caller sees it. */
export function reread(caller: Caller, { space_id }: Space): Promise<Space> {
  return caller.call('getSpace', { space_id });
}
