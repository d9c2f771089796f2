import { startApp } from '../support/app.ts';
import { failingEngine } from '../support/failing-engine.ts';
import { type Credentials, openWorld, type World } from './world.ts';

/** The servers that receive the transactions, each with its test data. */
export interface Servers {
  /** The server under test. */
  world: World;
  /** Additional servers for statuses that the server under test does not return, by status. */
  worldsByStatus: Partial<Record<string, World>>;
}

/** Creates test data on a running server. Disposing of `cleanup` deletes it. */
export async function prepareServer(
  url: string,
  cleanup: AsyncDisposableStack,
  credentials?: Credentials,
): Promise<Servers> {
  const world = cleanup.adopt(await openWorld(url, credentials), (each) => each.close());
  return { world, worldsByStatus: {} };
}

/** The data of `openWorld` uses up these quotas of `creator`. */
const FULL_QUOTAS = { MAX_SPACES: '2', MAX_PARTICIPATIONS: '2', MAX_TAGS: '2' };

/** Sufficient for the data of `openWorld`, and reached by a few requests. */
const LOW_RATES = { SPACES_PER_HOUR: '10', MESSAGES_PER_HOUR: '10', CHANGES_PER_HOUR: '10' };

/** Starts servers with temporary data. Disposing of `cleanup` stops them. */
export async function startServers(cleanup: AsyncDisposableStack): Promise<Servers> {
  const start = async (...options: Parameters<typeof startApp>) =>
    cleanup.use(await startApp(...options)).url;
  const startFailing = (code: string) => {
    const error = Object.assign(new Error('The database fails.'), { code });
    return start({}, { engine: (real) => failingEngine(real, () => ({ error, after: 0 })) });
  };

  const world = await openWorld(await start());
  return {
    world,
    worldsByStatus: {
      409: await openWorld(await start(FULL_QUOTAS)),
      429: await openWorld(
        await start({ RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '1', ...LOW_RATES }),
      ),
      // These servers fail before authentication, so the accounts may be those of another server.
      500: { ...world, url: await startFailing('SQLITE_ERROR') },
      503: { ...world, url: await startFailing('SQLITE_BUSY') },
    },
  };
}
