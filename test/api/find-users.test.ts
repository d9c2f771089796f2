import { beforeAll, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import type { TestUser } from '../support/client.ts';
import { createSpace, joinSpace, leaveSpace } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;
beforeAll(async () => {
  ann = await app.register('Ann');
});

const find = async ({ client }: TestUser, q: string, options: object = {}) => {
  const { data } = await api.findUsers({ client, query: { q, ...options }, throwOnError: true });
  return data;
};
const namesFor = async (user: TestUser, q: string) =>
  (await find(user, q)).items.map(({ username }) => username);

test('findUsers finds current participants of shared spaces by the beginnings of their names', async () => {
  const host = await app.register('Zoe');
  const space = await createSpace(host, { visibility: 'private' });
  const [elsa, else_, elbert] = [
    await app.register('Elsa'),
    await app.register('else'),
    await app.register('Elbert'),
  ];
  for (const user of [ann, elsa, else_]) await joinSpace(user, space);
  await joinSpace(elbert, await createSpace(elsa));
  expect(await namesFor(ann, 'el')).toEqual(['Elsa', 'else']);
  expect(await namesFor(ann, ' ＥＬＳＡ')).toEqual(['Elsa']);
  expect(await namesFor(elsa, 'EL')).toEqual(['Elbert', 'else']);
  expect(await namesFor(elbert, 'ann')).toEqual([]);
  expect(await namesFor(ann, 'ann')).toEqual([]);
  // The last letter of a beginning is not the last one of a word.
  await joinSpace(await app.register('Οδυσσέας'), space);
  expect(await namesFor(ann, 'ΟΔΥΣ')).toEqual(['Οδυσσέας']);
  expect(await namesFor(ann, 'οδυς')).toEqual(['Οδυσσέας']);
  expect(await namesFor(ann, 'lsa')).toEqual([]);
  expect(await namesFor(ann, '  ')).toEqual([]);
  // No wildcards.
  expect(await namesFor(ann, '%')).toEqual([]);
  expect(await namesFor(ann, 'el\0')).toEqual([]);
  await leaveSpace(else_, space);
  expect(await namesFor(ann, 'el')).toEqual(['Elsa']);
  await suspendAccount(app.context.engine, elsa.userId);
  expect(await namesFor(ann, 'el')).toEqual([]);
  await suspendAccount(app.context.engine, host.userId);
  expect(await namesFor(ann, 'z')).toEqual([]);
});

test('findUsers does not find through the spaces of suspended creators', async () => {
  const [host, ivy] = [await app.register(), await app.register('Ivy')];
  const space = await createSpace(host);
  for (const user of [ann, ivy]) await joinSpace(user, space);
  expect(await namesFor(ann, 'ivy')).toEqual(['Ivy']);
  await suspendAccount(app.context.engine, host.userId);
  expect(await namesFor(ann, 'ivy')).toEqual([]);
});

test('findUsers returns all users in pages, also beyond many whom it does not find', async () => {
  const { engine } = app.context;
  const [last, space] = [await app.register('qz'), await createSpace(ann)];
  await joinSpace(last, space);
  const { pk: _, ...row } = await engine.db
    .selectFrom('users')
    .selectAll()
    .where('user_id', '=', last.userId)
    .executeTakeFirstOrThrow();
  const strangers = Array.from({ length: 600 }, (_unused, i) => {
    const name = `qa${String(i).padStart(3, '0')}`;
    const keys = { username_key: name, username_skeleton: name, email_key: name };
    return { ...row, user_id: name, username: name, email: name, ...keys };
  });
  for (let i = 0; i < strangers.length; i += 100) {
    await engine.db
      .insertInto('users')
      .values(strangers.slice(i, i + 100))
      .execute();
  }
  const first = await find(ann, 'q', { limit: 5 });
  expect(first.items).toEqual([]);
  const second = await find(ann, 'q', { limit: 5, cursor: first.next_cursor });
  expect(second.items.map(({ username }) => username)).toEqual(['qz']);
  expect(second.next_cursor).toBeNull();
});
