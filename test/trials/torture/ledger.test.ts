import { expect, test } from 'vitest';
import * as api from '../../../generated/sdk.gen.ts';
import { eraseAccount } from '../../../server/account-lifecycle/deletion.ts';
import { findCaller } from '../../../server/auth/sessions.ts';
import { startApp } from '../../support/app.ts';
import type { TestUser } from '../../support/client.ts';
import { createSpace, joinSpace, sendMessage } from '../../support/spaces.ts';
import { readFacts } from './ledger.ts';

test('The facts of a database exclude rows of a deleted account that maintenance has not deleted yet', async () => {
  await using app = await startApp({}, { runsMaintenance: false });
  const { engine, config } = app.context;
  const [stays, gone] = [await app.register(), await app.register()];
  const markOf = ({ email }: TestUser) => email.split('@')[0] as string;
  const [stayMark, goneMark] = [markOf(stays), markOf(gone)];
  const own = await createSpace(gone, { description: `${goneMark}.s1 text` });
  const foreign = await createSpace(stays, { description: `${stayMark}.s1 text` });
  await joinSpace(stays, own);
  await joinSpace(gone, foreign);
  const message = await sendMessage(stays, own, `${goneMark}.s1>${stayMark}.m1 text`);
  const path = { message_id: message.message_id };
  await api.reportMessage({ client: gone.client, path, body: { reason: 'spam' } });
  await sendMessage(gone, foreign, `${stayMark}.s1>${goneMark}.m1 text`);
  expect([...(await readFacts(engine.db)).facts.keys()].join()).toContain(goneMark);

  const caller = await findCaller(engine, gone.token, config.sessions);
  if (!caller) throw new Error('The session has ended.');
  // So little time that it leaves rows.
  await eraseAccount(engine, { pk: caller.userPk, sessionPk: caller.sessionPk }, -1);
  const { facts } = await readFacts(engine.db);
  expect([...facts.keys()].sort()).toEqual([
    `participation ${stayMark}.s1>${stayMark}`,
    `read ${stayMark}.s1>${stayMark}`,
    `space ${stayMark}.s1`,
    `user ${stayMark}`,
    `username ${stayMark}`,
  ]);
});
