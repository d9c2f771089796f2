import { expect, test } from 'vitest';
import { startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { draw } from '../support/drawing.ts';
import { walkLists } from '../support/list-walk.ts';

const USERS = 3;

test('followers of lists have the list of a fresh read after any changes, on two servers', async () => {
  await using first = await startApp();
  await using second = await startApp({}, { sharesDataOf: first });
  const apps = [first, second];
  let registered = 0;
  const register = async (username: string): Promise<TestUser> => {
    registered += 1;
    return draw(apps).register(username);
  };
  const users: TestUser[] = [];
  for (let i = 0; i < USERS; i += 1) {
    const user = await register(`reader${i}`);
    // Followers and writers use both servers.
    users.push({ ...user, client: (apps[i % 2] as typeof first).client(user.token) });
  }
  const { changes, controlDifferences } = await walkLists({
    users,
    engine: first.context.engine,
    register,
    rounds: 2,
    changesPerRound: 60,
    lossRate: 1,
  });
  expect(changes).toBe(120);
  expect(controlDifferences).toBeGreaterThan(0);
  expect(registered).toBeGreaterThan(USERS);
});
