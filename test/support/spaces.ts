import * as api from '../../generated/sdk.gen.ts';
import type { Message, Participation, Space, SpaceCreation } from '../../generated/types.gen.ts';
import type { TestUser } from './client.ts';

/** Returns the body of a request that creates a space. The default is a public space with the title "Tea". */
export function spaceCreation(changes: Partial<SpaceCreation> = {}): SpaceCreation {
  return { title: 'Tea', description: '', visibility: 'public', tags: [], ...changes };
}

/** Creates a space. The default is a public space with the title "Tea". */
export async function createSpace(
  { client }: Pick<TestUser, 'client'>,
  changes: Partial<SpaceCreation> = {},
): Promise<Space> {
  const body = spaceCreation(changes);
  return (await api.createSpace({ client, body, throwOnError: true })).data;
}

/** Joins a space, with its invitation code if it has one. */
export async function joinSpace(
  { client }: Pick<TestUser, 'client'>,
  { space_id, invitation_code }: Pick<Space, 'space_id'> & Partial<Pick<Space, 'invitation_code'>>,
): Promise<Participation> {
  const body = invitation_code ? { invitation_code } : {};
  const path = { space_id };
  return (await api.joinSpace({ client, path, body, throwOnError: true })).data;
}

export async function leaveSpace(
  { client }: Pick<TestUser, 'client'>,
  { space_id }: Pick<Space, 'space_id'>,
): Promise<void> {
  await api.leaveSpace({ client, path: { space_id }, throwOnError: true });
}

export async function getSpace(
  { client }: Pick<TestUser, 'client'>,
  { space_id }: Pick<Space, 'space_id'>,
): Promise<Space> {
  return (await api.getSpace({ client, path: { space_id }, throwOnError: true })).data;
}

/** Returns the first page: at most 100 participations. */
export async function listParticipations({
  client,
}: Pick<TestUser, 'client'>): Promise<Participation[]> {
  const query = { limit: 100 };
  return (await api.listParticipations({ client, query, throwOnError: true })).data.items;
}

export async function sendMessage(
  { client }: Pick<TestUser, 'client'>,
  { space_id }: Pick<Space, 'space_id'>,
  text: string,
): Promise<Message> {
  return (await api.sendMessage({ client, body: { space_id, text }, throwOnError: true })).data;
}
