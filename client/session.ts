import type { Client } from '../generated/client/index.ts';
import { client as defaultClient } from '../generated/client.gen.ts';
import type { Session } from '../generated/types.gen.ts';
import { SessionChangedError } from './errors.ts';

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
  /** Discards the access token, because the service has rejected it. */
  expire(): void;
  /** Discards the session. Does not end it at the service, which `logout` does. */
  end(): void;
  /** Calls a function after each change, also by another tab. Returns a function that ends this. */
  subscribe(listener: () => void): () => void;
}

/**
 * Creates a session that is restored from the storage. Its client sends the access token with each request, and discards
 * responses that arrive after the session has changed: the request fails with a `SessionChangedError` as its cause.
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

  const { fetch: send = globalThis.fetch } = client.getConfig();
  client.setConfig({
    auth: token,
    fetch: async (...request) => {
      const sent = token();
      const response = await send(...request);
      if (token() !== sent) throw new SessionChangedError('The session has changed.');
      return response;
    },
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
    status: () => (token() !== '' ? 'signed-in' : userId() === null ? 'signed-out' : 'expired'),
    start({ user_id, access_token }) {
      if (typeof user_id !== 'string' || typeof access_token !== 'string') {
        throw new TypeError('The response is not a session.');
      }
      write({ user_id, access_token });
    },
    expire() {
      const { user_id } = read();
      if (token() !== '') write({ user_id });
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

/** Returns an empty object if the storage has something else. */
function parseSession(stored: string | null): Partial<StoredSession> {
  try {
    return Object(JSON.parse(stored ?? '{}'));
  } catch {
    return {};
  }
}
