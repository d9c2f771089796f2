import { removeDiscardedAvatars } from '../avatars/discarded-avatars.ts';
import { openAvatarStore } from '../avatars/open.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { OperatorError } from '../errors.ts';

/**
 * Removes discarded avatars from the configured store, without waiting for the housekeeping of the service. For
 * commands that have already committed their change.
 * @throws OperatorError if the store cannot be opened, or some avatars could not be removed
 */
export async function removeDiscardedAvatarsNow(
  engine: Engine,
  config: Pick<Config, 'dataDir' | 'avatarBaseUrl' | 'avatarBucket'>,
): Promise<void> {
  try {
    // If the bucket is unavailable, the removal below fails with the reason.
    const avatars = await openAvatarStore(config, engine, () => {});
    await removeDiscardedAvatars(engine, avatars);
  } catch (error) {
    const reasons = reasonsOf(error);
    if (reasons === undefined) throw error;
    throw new OperatorError(
      `The change to the account is complete, but discarded avatars could not be deleted. The service retries within 10 minutes. ${reasons.join('; ')}`,
      { cause: error },
    );
  }
}

/** Returns the reasons of a failure that the operator can fix; undefined if it is a bug. */
function reasonsOf(error: unknown): string[] | undefined {
  if (error instanceof AggregateError) return error.errors.map(({ message }: Error) => message);
  if (error instanceof OperatorError) return [error.message];
  return error instanceof Error && 'syscall' in error ? [error.message] : undefined;
}
