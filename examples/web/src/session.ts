import { replaceView } from './navigation.ts';

const STORAGE_KEY = 'access-token';

/** Returns the access token; empty without a session. */
export function accessToken(): string {
  return sessionStorage.getItem(STORAGE_KEY) ?? '';
}

export function isSignedIn(): boolean {
  return accessToken() !== '';
}

/** Stores the token until the tab is closed, so that the next person at this computer does not find it. */
export function startSession(token: string): void {
  sessionStorage.setItem(STORAGE_KEY, token);
  showSession();
}

export function endSession(): void {
  sessionStorage.removeItem(STORAGE_KEY);
  showSession();
}

/** Marks the page. The style sheet hides the links that need the other state. */
export function showSession(): void {
  document.body.dataset.session = isSignedIn() ? 'signed-in' : 'signed-out';
}

/** Opens the sign-in instead of the current view, because a request needs a session. */
export function askToSignIn(): void {
  const message = isSignedIn() ? 'Your session has ended. Sign in again.' : '';
  endSession();
  replaceView('#/sign-in', message);
}
