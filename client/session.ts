import type { Client } from '../generated/client/index.ts';
import { client as defaultClient } from '../generated/client.gen.ts';
import type { Session } from '../generated/types.gen.ts';
import { ApiError, SessionChangedError } from './errors.ts';

/** `expired`: the access token is no longer valid. The same user can sign in again without losing what a page shows. */
export type SessionStatus = 'signed-out' | 'signed-in' | 'expired';

/** The fields of the response of `login` or `register` that are stored. */
type StoredSession = Pick<Session, 'user_id' | 'access_token'>;

export interface SessionOptions {
  /** Keeps the session, also for other tabs; by default `localStorage`. */
  storage?: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
  /** The name of the item in the storage. */
  key?: string;
  /** Gets the access token; by default the exported `client`. */
  client?: Client;
}

/** The session of the user. Its functions do not need `this`, so they can be passed to `useSyncExternalStore`. */
export interface SessionStore {
  status(): SessionStatus;
  /** Returns the access token; empty unless signed in. */
  token(): string;
  /** Returns the id of the user; null if signed out. */
  userId(): string | null;
  /**
   * Stores the session that `login` or `register` has returned.
   * @throws TypeError if it has no access token, as in a response of another server
   */
  start(session: StoredSession): void;
  /** Discards the access token, as when the service has rejected it. */
  expire(): void;
  /** Discards the session. Does not end it at the service, which `logout` does. */
  end(): void;
  /** Calls a function after each change, also by another tab. Returns a function that ends this. */
  subscribe(listener: () => void): () => void;
}

/**
 * Creates a session that is restored from the storage. Its client sends the access token with each request. The session
 * expires when the service rejects the token. Responses that arrive after the user has changed, and rejections of an
 * earlier token, are discarded: the request fails with a `SessionChangedError` as its cause.
 */
export function createSession(options: SessionOptions = {}): SessionStore {
  const { storage = localStorage, key = 'space-service-session', client = defaultClient } = options;
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of listeners) listener();
  };
  const read = () => parseSession(storage.getItem(key));
  const write = (session: Partial<StoredSession>) => {
    storage.setItem(key, JSON.stringify(session));
    notify();
  };
  const token = () => read().access_token ?? '';
  const userId = () => read().user_id ?? null;
  const expire = () => {
    const { user_id } = read();
    if (token() !== '') write({ user_id });
  };

  client.setConfig({ auth: token });
  // Interceptors see each request, also those with a `fetch` of their own.
  const senders = new WeakMap<object, string | null>();
  client.interceptors.request.use((request, requestOptions) => {
    senders.set(requestOptions, userId());
    return request;
  });
  client.interceptors.response.use((response, request, requestOptions) => {
    const isOfUser = senders.get(requestOptions) === userId();
    const hasNewToken = token() !== '' && tokenIn(request) !== '' && tokenIn(request) !== token();
    if (!isOfUser || (response.status === 401 && hasNewToken)) {
      throw new SessionChangedError();
    }
    return response;
  });
  client.interceptors.error.use((error, _response, request) => {
    const isRejected = error instanceof ApiError && error.code === 'unauthenticated';
    if (isRejected && request && tokenIn(request) === token()) expire();
    return error;
  });
  if (typeof window === 'object') {
    window.addEventListener('storage', ({ key: changed }) => {
      // `clear` changes all keys.
      if (changed === key || changed === null) notify();
    });
  }
  return {
    token,
    userId,
    expire,
    status: () => (token() !== '' ? 'signed-in' : userId() === null ? 'signed-out' : 'expired'),
    start({ user_id, access_token }) {
      if (typeof user_id !== 'string' || typeof access_token !== 'string') {
        throw new TypeError('The response is not a session.');
      }
      write({ user_id, access_token });
    },
    end() {
      storage.removeItem(key);
      notify();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Returns the access token of a request; empty if it has none. */
function tokenIn({ headers }: Request): string {
  return headers.get('Authorization')?.replace(/^Bearer /, '') ?? '';
}

/** Returns an empty object if the storage has something else. */
function parseSession(stored: string | null): Partial<StoredSession> {
  try {
    return Object(JSON.parse(stored ?? '{}'));
  } catch {
    return {};
  }
}
