import { removeDiscardedAvatars } from '../avatars/discarded-avatars.ts';
import { openAvatarStore } from '../avatars/open.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { OperatorError } from '../errors.ts';

/**
 * Removes discarded avatars from the configured store, without waiting for the housekeeping of the service.
 * @throws OperatorError if some could not be removed
 */
export async function removeDiscardedAvatarsNow(
  engine: Engine,
  config: Pick<Config, 'dataDir' | 'avatarBaseUrl' | 'avatarBucket'>,
): Promise<void> {
  // If the bucket is unavailable, the removal below fails with the reason.
  const avatars = await openAvatarStore(config, engine, () => {});
  try {
    await removeDiscardedAvatars(engine, avatars);
  } catch (error) {
    if (!(error instanceof AggregateError)) throw error;
    const reasons = error.errors.map((each: Error) => each.message).join('; ');
    throw new OperatorError(
      `The change to the account is complete, but discarded avatars could not be deleted. The service retries within 10 minutes. ${reasons}`,
    );
  }
}
