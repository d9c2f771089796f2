import { removeDiscardedAvatars } from '../avatars/discarded-avatars.ts';
import { openAvatarStore } from '../avatars/open.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { OperatorError } from '../errors.ts';

/**
 * Deletes the files of discarded avatars, without waiting for the housekeeping of the service.
 * @throws OperatorError if some files could not be deleted
 */
export async function deleteDiscardedFiles(
  engine: Engine,
  config: Pick<Config, 'dataDir' | 'avatarBaseUrl' | 'avatarBucket'>,
): Promise<void> {
  // If the bucket is unavailable, the removal below fails with the reason.
  const avatars = await openAvatarStore(config, () => {});
  try {
    await removeDiscardedAvatars(engine, avatars);
  } catch (error) {
    if (!(error instanceof AggregateError)) throw error;
    const reasons = error.errors.map((each: Error) => each.message).join('; ');
    throw new OperatorError(
      `The account no longer uses its avatar, but the file could not be deleted. The service retries within 10 minutes. ${reasons}`,
    );
  }
}
