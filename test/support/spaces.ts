import * as api from '../../generated/sdk.gen.ts';
import type { Message, Space, SpaceCreation } from '../../generated/types.gen.ts';
import type { TestUser } from './app.ts';

/** Creates a space, public and called Tea unless told otherwise. */
export async function createSpace(
  { client }: Pick<TestUser, 'client'>,
  space: Partial<SpaceCreation> = {},
): Promise<Space> {
  const body = { title: 'Tea', description: '', visibility: 'public' as const, tags: [], ...space };
  return (await api.createSpace({ client, body, throwOnError: true })).data;
}

/** Joins a space, by its invitation code if it has one. */
export async function join(
  { client }: Pick<TestUser, 'client'>,
  { space_id, invitation_code }: Pick<Space, 'space_id'> & Partial<Pick<Space, 'invitation_code'>>,
): Promise<void> {
  const body = invitation_code ? { invitation_code } : {};
  await api.joinSpace({ client, path: { space_id }, body, throwOnError: true });
}

export async function send(
  { client }: Pick<TestUser, 'client'>,
  { space_id }: Pick<Space, 'space_id'>,
  text: string,
): Promise<Message> {
  return (await api.sendMessage({ client, body: { space_id, text }, throwOnError: true })).data;
}

/** What was answered to a call that did not succeed: its status and code. */
export async function refusal(
  call: Promise<{ error?: unknown; response?: Response }>,
): Promise<string> {
  const { error, response } = await call;
  if (response === undefined) throw error;
  const { status, code } = (error ?? {}) as { status?: number; code?: string };
  if (response.status !== status) throw new Error(`${response.status}, which says ${status}`);
  return `${status} ${code}`;
}
