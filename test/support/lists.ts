import * as api from '../../generated/sdk.gen.ts';
import type { TestApp } from './app.ts';
import type { TestUser } from './client.ts';
import { createSpace, joinSpace, sendMessage } from './spaces.ts';

/**
 * Creates a user who has several items in each list of the contract. Extend it for a new list.
 * @returns the user, and the values of parameters that select these lists
 */
export async function createLists(
  app: TestApp,
): Promise<{ user: TestUser; values: Record<string, string> }> {
  const user = await app.register();
  const space = await createSpace(user, { title: 'Listed', tags: ['listed', 'twice'] });
  await createSpace(user, { title: 'Also listed', tags: ['listed', 'twice'] });
  for (const text of ['one', 'two']) await sendMessage(user, space, text);
  for (const isRemoved of [false, true, true]) {
    const guest = await app.register();
    await joinSpace(guest, space);
    const path = { space_id: space.space_id, user_id: guest.userId };
    if (isRemoved) await api.removeParticipant({ client: user.client, path, throwOnError: true });
  }
  // A second session.
  const { email, password, userId: user_id } = user;
  await api.login({ client: app.client(), body: { email, password }, throwOnError: true });
  return { user, values: { q: 'listed', tag: 'listed', space_id: space.space_id, user_id } };
}
