import { useSyncExternalStore } from 'react';

const STORAGE_KEY = 'access-token';
const listeners = new Set<() => void>();

/** Returns the access token; empty without a session. */
export function accessToken(): string {
  return sessionStorage.getItem(STORAGE_KEY) ?? '';
}

/** Stores the token until the tab is closed, so that the next person at this computer does not find it. */
export function startSession(token: string): void {
  sessionStorage.setItem(STORAGE_KEY, token);
  notifyListeners();
}

export function endSession(): void {
  sessionStorage.removeItem(STORAGE_KEY);
  notifyListeners();
}

export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useAccessToken(): string {
  return useSyncExternalStore(onSessionChange, accessToken);
}

export function useIsSignedIn(): boolean {
  return useAccessToken() !== '';
}

function notifyListeners(): void {
  for (const listener of listeners) listener();
}
