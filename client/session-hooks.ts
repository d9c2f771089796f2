import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import type { SessionStatus, SessionStore } from './session.ts';

/** The session of each QueryClient that has one. */
const sessions = new WeakMap<QueryClient, SessionStore>();

export function setSession(queryClient: QueryClient, session: SessionStore): void {
  sessions.set(queryClient, session);
}

/** Returns the session that `createQueryClient` has got; undefined without one. */
export function sessionOf(queryClient: QueryClient): SessionStore | undefined {
  return sessions.get(queryClient);
}

/** Returns a function that runs an action, unless another user has signed in meanwhile: the cache is that user's then. */
export function forCurrentUser(queryClient: QueryClient): (action: () => void) => void {
  const session = sessionOf(queryClient);
  const userId = session?.userId();
  return (action) => {
    if (session?.userId() === userId) action();
  };
}

/** Returns the status of the session that `createQueryClient` has got; `signed-out` without one. */
export function useSessionStatus(): SessionStatus {
  return useSessionValue((session) => session.status()) ?? 'signed-out';
}

/** Returns the id of the user of this session; null if signed out. As the `key` of views, it begins new ones for another user. */
export function useUserId(): string | null {
  return useSessionValue((session) => session.userId()) ?? null;
}

/** Returns a value of the session, which must be a primitive; undefined without a session. */
export function useSessionValue<Value>(read: (session: SessionStore) => Value): Value | undefined {
  const session = sessionOf(useQueryClient());
  const getValue = () => session && read(session);
  return useSyncExternalStore(session?.subscribe ?? subscribeToNothing, getValue, getValue);
}

function subscribeToNothing(): () => void {
  return () => {};
}
