import { createSession } from 'space-service';
import { useSessionStatus } from 'space-service/tanstack-react-query';

/** Kept until the user signs out, for all tabs. */
export const session = createSession();

/** Returns whether there is a user, also while the session has expired. */
export function useIsSignedIn(): boolean {
  return useSessionStatus() !== 'signed-out';
}
