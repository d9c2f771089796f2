import { startApp } from '../support/app.ts';
import { failingEngine } from '../support/failing-engine.ts';
import { type Credentials, openWorld, type World } from './world.ts';

/** The servers that receive the transactions. */
export interface Servers {
  /** On the server under test. */
  world: World;
  /** On servers that respond with a certain status, by status. */
  worldsByStatus: Partial<Record<string, World>>;
}

/** Prepares a running server. The caller disposes `closing`. */
export async function prepareServer(
  url: string,
  closing: AsyncDisposableStack,
  credentials?: Credentials,
): Promise<Servers> {
  const world = closing.adopt(await openWorld(url, credentials), (each) => each.deleteAccounts());
  return { world, worldsByStatus: {} };
}

/** Starts servers with temporary data. The caller disposes `closing`. */
export async function startServers(closing: AsyncDisposableStack): Promise<Servers> {
  const start = async (...how: Parameters<typeof startApp>) =>
    closing.use(await startApp(...how)).url;
  const failWith = (code: string) => {
    const error = Object.assign(new Error('The database fails.'), { code });
    return start({}, { engine: (real) => failingEngine(real, () => ({ error, after: 0 })) });
  };

  const world = await openWorld(await start());
  return {
    world,
    worldsByStatus: {
      429: await openWorld(await start({ RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '1' })),
      // They fail before authentication, so they need no accounts.
      500: { ...world, url: await failWith('SQLITE_ERROR') },
      503: { ...world, url: await failWith('SQLITE_BUSY') },
    },
  };
}
