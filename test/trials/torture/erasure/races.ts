import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as api from '../../../../generated/sdk.gen.ts';
import { isAvatarName } from '../../../../server/avatars/store.ts';
import { operations } from '../../../../server/contract.ts';
import { avatarFile } from '../../../support/avatar.ts';
import { register } from '../../../support/client.ts';
import { assertIndexed } from '../../../support/integrity.ts';
import { startServer } from '../../../support/server.ts';
import { createSpace, sendMessage, spaceCreation } from '../../../support/spaces.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { outcomeOf, sendExample, tally } from '../people.ts';
import { assertSound } from '../soundness.ts';
import { readOtherRows } from './rows.ts';

/** Operations that are not sent during the deletion of their account, with the reason. */
const notRacing: Readonly<Record<string, string>> = {
  register: 'It would create another account.',
  logout: 'The deletion requires the session.',
  endSession: 'The deletion requires the session.',
  resetPassword: 'Its token is in a mail, and this server sends none.',
  verifyEmail: 'Its token is in a mail, and this server sends none.',
};

/** Deletes accounts while their own requests are in progress. */
export async function raceDeletions(rounds: number): Promise<string> {
  await using server = await startServer({ WORKERS: '2' });
  const keeper = await register(server.url, 'keeper');
  const foreign = await createSpace(keeper, { tags: ['baking'] });
  const message = await sendMessage(keeper, foreign, 'Hello');
  const privateSpace = spaceCreation({ title: 'Belated', visibility: 'private', tags: ['baking'] });
  const avatar = await avatarFile();
  const outcomes: ReturnType<typeof outcomeOf>[] = [];
  let racing = 0;

  for (let round = 0; round < rounds; round += 1) {
    const { client, token, email, password } = await register(server.url, `passing-${round}`);
    const path = { space_id: foreign.space_id };
    await api.joinSpace({ client, path, body: {}, throwOnError: true });
    const values = {
      email,
      password,
      currentPassword: password,
      username: `late-${round}`,
      title: 'Belated',
      q: 'belated',
      text: 'Wait!',
      bio: 'Too late?',
      ...path,
      message_id: message.message_id,
      user_id: keeper.userId,
      token_id: 'none',
    };
    const upload = () => api.changeProfilePicture({ client, body: { avatar } });
    const requests: (() => Promise<{ response?: Response; error?: unknown }>)[] = [
      ...operations
        .filter(({ operationId }) => !Object.hasOwn(notRacing, operationId))
        .map((operation) => () => sendExample(server.url, operation, values, token)),
      ...[upload, upload, upload, upload, upload, upload],
      () => api.createSpace({ client, body: privateSpace }),
    ];
    racing = requests.length;
    const results = requests.map(async (request) => {
      await sleep(Math.random() * 60);
      return outcomeOf(await request());
    });
    await sleep(Math.random() * 80);
    const deletion = outcomeOf(await api.deleteAccount({ client }));
    outcomes.push(deletion, ...(await Promise.all(results)));
  }
  // Completed before the deletion, or rejected because the account or the participation is gone.
  const bad = outcomes.filter(
    ({ status = 0, code }) =>
      ![200, 201, 401, 403].includes(status) &&
      !['participation_not_found', 'token_not_found'].includes(code ?? ''),
  );
  assert.deepEqual(bad, [], tally(outcomes));

  // The requests to delete the accounts must remove the files. The next run of housekeeping is minutes later.
  const folder = join(server.dataDir, 'avatars');
  const countRows = () =>
    Object.fromEntries(
      [...readOtherRows(server.dataDir)].map(([name, rows]) => [name, rows.length]),
    );
  const isCleanedUp = async () =>
    (await readdir(folder)).filter(isAvatarName).length === 0 &&
    countRows().discarded_avatars === 0;
  await waitUntil('only the default avatar remains', isCleanedUp);
  const counts = countRows();
  const none = Object.fromEntries(Object.keys(counts).map((table) => [table, 0]));
  assert.deepEqual(counts, {
    ...none,
    users: 1,
    sessions: 1,
    spaces: 1,
    participations: 1,
    messages: 1,
    space_tags: 1,
    tags: 1,
  });
  await assertSound(server.location);
  await assertIndexed(server.dataDir);
  const before = outcomes.filter(({ status }) => status !== 401).length;
  return `${rounds} deletions, each racing with ${racing} uploads, changes and reads (${before} done, ${outcomes.length - before} too late): no row or file without an owner, and no failure`;
}
