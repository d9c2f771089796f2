import { suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { openWorld, type Servers } from '../../verification/world.ts';
import { startApp } from '../support/app.ts';
import { databaseError, UNAVAILABLE_CODES, UNEXPECTED_CODE } from '../support/databases.ts';
import { failingEngine } from '../support/failing-engine.ts';
import { startMailServer } from '../support/mail-server.ts';

/** Quotas that the data of `openWorld` uses up for `creator`, and for `other` that of access tokens. */
const FULL_QUOTAS = { MAX_SPACES: '3', MAX_PARTICIPATIONS: '3', MAX_TOKENS: '2' };

/** Quotas that the data of `openWorld` does not use up, but that a few more requests do. */
const LOW_RATES = { SPACES_PER_HOUR: '10', MESSAGES_PER_HOUR: '10', CHANGES_PER_HOUR: '10' };

/**
 * Starts servers with temporary data. Disposing of `cleanup` stops them.
 * @param interruption once aborted, no further server starts, and the returned promise rejects with its reason
 */
export async function startServers(
  cleanup: AsyncDisposableStack,
  interruption?: AbortSignal,
): Promise<Servers> {
  const mailServer = cleanup.use(await startMailServer());
  const start = async (...options: Parameters<typeof startApp>) => {
    interruption?.throwIfAborted();
    return cleanup.use(await startApp(...options)).url;
  };
  const startFailing = (code: string) => {
    const error = databaseError('The database fails.', code);
    return start(mailServer.settings, {
      engine: (real) => failingEngine(real, () => ({ error, after: 0 })),
    });
  };

  interruption?.throwIfAborted();
  const app = cleanup.use(await startApp(mailServer.settings));
  const world = await openWorld(app.url);
  const withMails = {
    ...world,
    receiveToken: async (address: string, view: string) =>
      (await mailServer.receive(address, view)).token,
  };
  const suspended = await world.register();
  await suspendAccount(app.context.engine, suspended.userId);
  const strictUrl = await start({ REQUIRE_VERIFIED_EMAIL: 'on' });
  const { creator: unverified } = await openWorld(strictUrl);
  const strict = { ...world, url: strictUrl, creator: unverified };
  const full = await openWorld(await start(FULL_QUOTAS));
  return {
    world,
    specialWorlds: {
      'login 403': { ...world, creator: suspended },
      'register 403': { ...world, url: await start({ REGISTRATION: 'closed' }) },
      'requestPasswordReset 403': full,
      'requestEmailVerification 403': full,
      'resetPassword 200': withMails,
      'verifyEmail 200': withMails,
      'verifyEmail 409': withMails,
      'changeUsername 403': strict,
      'changeBio 403': strict,
      'changeProfilePicture 403': strict,
      'createSpace 403': strict,
      'reportSpace 403': strict,
      'reportMessage 403': strict,
      'reportUser 403': strict,
      'createSpace 409': full,
      'joinSpace 409': full,
      'createToken 409': full,
      429: await openWorld(
        await start({
          ...mailServer.settings,
          RATE_LIMITS: 'on',
          PUBLIC_RATE_LIMIT: '1',
          ...LOW_RATES,
        }),
      ),
      // These servers fail before authentication, so the accounts may be those of another server.
      500: { ...world, url: await startFailing(UNEXPECTED_CODE) },
      503: { ...world, url: await startFailing(UNAVAILABLE_CODES[0]) },
    },
  };
}
