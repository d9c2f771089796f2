import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, createConfig } from '../../../generated/client/index.ts';
import { openDatabase } from '../../../server/database/open.ts';
import { register, type TestUser } from '../../support/client.ts';
import { createTestDatabase, isPostgresql } from '../../support/databases.ts';
import { draw } from '../../support/drawing.ts';
import { walkLists } from '../../support/list-walk.ts';
import { preload } from '../../support/processes.ts';
import { retryWhileUnavailable } from '../../support/retry.ts';
import { type Server, startServer } from '../../support/server.ts';
import type { Trial } from './trial.ts';

const USERS = 6;

/** The clocks of the machines differ from the real time by up to this. */
const MAX_CLOCK_ERROR_MS = 10_000;

export const listFollowing: Trial = {
  promise:
    'Readers who follow their lists of spaces have the list of a fresh read whenever writers pause, also if the clocks of the servers differ.',
  quickTest: 'test/api/list-walk.test.ts',
  runsOnPostgresql: true,
  async run(scale) {
    const [rounds, changesPerRound, lossRate] =
      scale === 'full' ? [500, 200, 0.001] : [10, 60, 0.3];
    const dataDir = await mkdtemp(join(tmpdir(), 'space-service-lists-'));
    await using database = await createTestDatabase();
    const settings = {
      ...database.settings,
      DATA_DIR: dataDir,
      RATE_LIMITS: 'off',
      PUBLIC_URL: 'http://service',
    };
    const start = (workers: string) => {
      const error = Math.round((Math.random() * 2 - 1) * MAX_CLOCK_ERROR_MS);
      const clock = `const now = Date.now; Date.now = () => now() + ${error};`;
      return startServer({ ...settings, WORKERS: workers, ...preload(clock) });
    };
    // Machines cannot share a SQLite file.
    const servers: Server[] = isPostgresql
      ? [await start('1'), await start('1')]
      : [await start('2')];
    try {
      const anyServer = (token: string) =>
        createClient(
          createConfig({
            baseUrl: 'http://service',
            auth: token,
            fetch: (input) =>
              retryWhileUnavailable(() => {
                const request = (input as Request).clone();
                const { url } = draw(servers);
                return fetch(new Request(request.url.replace('http://service', url), request));
              }),
          }),
        );
      const registerUser = async (username: string): Promise<TestUser> => {
        const user = await register((servers[0] as Server).url, username);
        return { ...user, client: anyServer(user.token) };
      };
      const users: TestUser[] = [];
      for (let i = 0; i < USERS; i += 1) users.push(await registerUser(`reader${i}`));
      await using engine = await openDatabase(
        { dataDir, ...database.location },
        { purpose: 'command' },
      );
      const { changes, controlDifferences } = await walkLists({
        users,
        engine,
        register: registerUser,
        rounds,
        changesPerRound,
        lossRate,
      });
      assert(controlDifferences > 0, 'a follower that loses changes was not found');
      return `${changes} changes by ${USERS} users, no difference at ${rounds} quiet moments; a reader that loses ${lossRate * 100} % of the changes differed at ${controlDifferences} of them`;
    } finally {
      for (const server of servers) await server[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true });
    }
  },
};
