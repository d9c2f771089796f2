import { startApp } from '../support/app.ts';
import { failingEngine } from '../support/failing.ts';
import { type Credentials, openWorld, type World } from './world.ts';

/** Where transactions are sent. */
export interface Servers {
  /** On the server that is checked. */
  world: World;
  /** By status: on servers that were brought to the point of giving it. */
  stages: Partial<Record<string, World>>;
}

/** Prepares a server that runs already. What it closes must be closed. */
export async function enterServer(
  url: string,
  closing: AsyncDisposableStack,
  credentials?: Credentials,
): Promise<Servers> {
  const world = closing.adopt(await openWorld(url, credentials), (each) => each.close());
  return { world, stages: {} };
}

/** Starts servers of our own, on temporary folders. */
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
    stages: {
      429: await openWorld(await start({ RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '1' })),
      // They fail before they find out who is calling, so they need not know anybody.
      500: { ...world, url: await failWith('SQLITE_ERROR') },
      503: { ...world, url: await failWith('SQLITE_BUSY') },
    },
  };
}
