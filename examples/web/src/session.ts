import { useSyncExternalStore } from 'react';
import { createSession, type SessionStatus } from 'space-service';

/** Kept until the user signs out, for all tabs. */
export const session = createSession();

export function useSessionStatus(): SessionStatus {
  return useSyncExternalStore(session.subscribe, session.status);
}

/** Returns whether there is a user, also while the session has expired. */
export function useIsSignedIn(): boolean {
  return useSessionStatus() !== 'signed-out';
}
