import assert from 'node:assert/strict';
import { Agent, type ClientRequest, request } from 'node:http';
import { avatarFile } from '../../support/avatar.ts';
import { register } from '../../support/client.ts';
import { retryAfter, retryWhileUnavailable } from '../../support/retry.ts';
import { createSpace } from '../../support/spaces.ts';

/** A request. */
export interface Call {
  name: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: Buffer | undefined;
}

/** The outcome of a request, with its times. They are values of `performance.now()`. */
export interface TimedOutcome {
  name: string;
  path: string;
  startedAt: number;
  endedAt: number;
  /** Undefined without a complete response. */
  status: number | undefined;
  headers: Headers;
  /** The code of the connection error, or `hung` after a timeout. Undefined after a response. */
  error: string | undefined;
  /** Whether the connection had carried a request before. */
  isReused: boolean;
}

const RESPONSE_TIMEOUT_MS = 20_000;

/** Sends a request. Never rejects: errors are part of the outcome. */
export function send(url: string, call: Call, agent: Agent): Promise<TimedOutcome> {
  const { name, method, path, headers, body } = call;
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let sent: ClientRequest | undefined;
    const end = (result: Partial<TimedOutcome>) => {
      clearTimeout(deadline);
      resolve({
        name,
        path,
        startedAt,
        endedAt: performance.now(),
        status: undefined,
        headers: new Headers(),
        error: undefined,
        isReused: sent?.reusedSocket ?? false,
        ...result,
      });
    };
    const deadline = setTimeout(() => {
      end({ error: 'hung' });
      sent?.destroy();
    }, RESPONSE_TIMEOUT_MS);
    sent = request(url + path, { method, headers, agent }, (response) => {
      const headers = new Headers(response.headers as Record<string, string>);
      response.resume();
      response.on('end', () => end({ status: response.statusCode, headers }));
      response.on('error', (error: NodeJS.ErrnoException) => end({ error: error.code }));
    });
    sent.on('error', (error: NodeJS.ErrnoException) => end({ error: error.code ?? error.message }));
    sent.end(body);
  });
}

/**
 * Sends one request after another on a single connection until it is stopped or `continues` returns false. Repeats a
 * request while the service is unavailable. Each attempt has an outcome.
 */
export function keepSending(
  url: string,
  next: () => Call,
  { continues = () => true }: { continues?: (outcome: TimedOutcome) => boolean } = {},
): { stop(): Promise<TimedOutcome[]> } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const outcomes: TimedOutcome[] = [];
  let isStopping = false;
  const sending = (async () => {
    while (!isStopping) {
      const call = next();
      const outcome = await retryWhileUnavailable(async () => {
        const attempt = await send(url, call, agent);
        outcomes.push(attempt);
        return attempt;
      });
      assert(!isUnavailable(outcome), `${call.name} returns 503 persistently`);
      if (!continues(outcome)) break;
    }
    agent.destroy();
  })();
  // stop() rejects with the error. Until then, it must not count as unhandled.
  sending.catch(() => {});
  return {
    async stop() {
      isStopping = true;
      await sending;
      return outcomes;
    },
  };
}

/** Whether the service has asked to repeat the request later. */
export function isUnavailable(outcome: TimedOutcome): boolean {
  return retryAfter(outcome) !== undefined;
}

/** Creates requests of each kind for an account. */
export interface AccountRequests {
  token: string;
  search(): Call;
  profile(): Call;
  bio(): Call;
  login(): Call;
  upload(): Call;
}

/**
 * Registers an account and creates spaces that searches find. Each search request has a different query. Logins use
 * another account, because many logins would end the session of this one.
 */
export async function prepareAccount(url: string, spaces = 50): Promise<AccountRequests> {
  const { token, client } = await register(url, 'ada');
  const { email, password } = await register(url, 'grace');
  for (let i = 0; i < spaces; i += 1) {
    const title = `Bread number ${i}`;
    const description = 'Flour, water, salt and time, kneaded and baked by many hands';
    await createSpace({ client }, { title, description, tags: ['baking'] });
  }
  const form = await encodeAvatarForm();
  const authorization = `Bearer ${token}`;
  let count = 0;
  const nextNumber = () => {
    count += 1;
    return count;
  };
  return {
    token,
    search: () => ({
      name: 'search',
      method: 'GET',
      path: `/api/spaces/search?q=bread%20${nextNumber()}`,
      headers: {},
    }),
    profile: () => ({
      name: 'profile',
      method: 'GET',
      path: '/api/profile/me',
      headers: { authorization },
    }),
    bio: () => {
      const { body, headers } = encodeJson({ bio: `Bio no. ${nextNumber()}` });
      return {
        name: 'bio',
        method: 'PUT',
        path: '/api/profile/bio',
        body,
        headers: { ...headers, authorization },
      };
    },
    login: () => ({
      name: 'login',
      method: 'POST',
      path: '/api/auth/login',
      ...encodeJson({ email, password }),
    }),
    upload: () => ({
      name: 'upload',
      method: 'PUT',
      path: '/api/profile/picture',
      body: form.body,
      headers: { ...form.headers, authorization },
    }),
  };
}

interface Content {
  body: Buffer;
  headers: Record<string, string>;
}

function encodeJson(content: object): Content {
  return contentOf('application/json', Buffer.from(JSON.stringify(content)));
}

/** Encodes the form of an upload, so that its bytes can be sent repeatedly. */
async function encodeAvatarForm(): Promise<Content> {
  const form = new FormData();
  form.append('avatar', await avatarFile(), 'avatar.png');
  const response = new Response(form);
  const type = response.headers.get('content-type') ?? '';
  return contentOf(type, Buffer.from(await response.arrayBuffer()));
}

function contentOf(type: string, body: Buffer): Content {
  return { body, headers: { 'content-type': type, 'content-length': String(body.length) } };
}

/** Returns the duration of a request in milliseconds. */
export function duration({ startedAt, endedAt }: TimedOutcome): number {
  return endedAt - startedAt;
}
