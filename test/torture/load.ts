import { Agent, type ClientRequest, request } from 'node:http';
import { createClient, createConfig } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import { avatarFile } from '../support/avatar.ts';

/** A request to be made. */
export interface Call {
  name: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: Buffer | undefined;
}

/** What became of a request. Times are in milliseconds, as `performance.now()` has them. */
export interface Outcome {
  name: string;
  path: string;
  begun: number;
  ended: number;
  /** Undefined where no complete answer came. */
  status: number | undefined;
  retryAfter: string | undefined;
  /** Why no answer came: the code of the connection's error, or `hung`. */
  error: string | undefined;
  /** Whether the connection had carried a request before. */
  isReused: boolean;
}

/** How long to wait for an answer before it counts as hung, in milliseconds. */
const PATIENCE = 20_000;

/** Sends a request. Never fails: what went wrong is in the outcome. */
export function send(url: string, call: Call, agent: Agent): Promise<Outcome> {
  const { name, method, path, headers, body } = call;
  const begun = performance.now();
  return new Promise((resolve) => {
    let sent: ClientRequest | undefined;
    const end = (answer: Partial<Outcome>) => {
      clearTimeout(deadline);
      const rest = { status: undefined, retryAfter: undefined, error: undefined, ...answer };
      const isReused = sent?.reusedSocket ?? false;
      resolve({ name, path, begun, ended: performance.now(), isReused, ...rest });
    };
    const deadline = setTimeout(() => {
      end({ error: 'hung' });
      sent?.destroy();
    }, PATIENCE);
    sent = request(url + path, { method, headers, agent }, (response) => {
      const { statusCode: status, headers: answered } = response;
      response.resume();
      response.on('end', () => end({ status, retryAfter: answered['retry-after'] }));
      response.on('error', (error: NodeJS.ErrnoException) => end({ error: error.code }));
    });
    sent.on('error', (error: NodeJS.ErrnoException) => end({ error: error.code ?? error.message }));
    sent.end(body);
  });
}

/** A client that makes one request after another, for as long as it is let, on one connection where it can. */
export function keepSending(
  url: string,
  next: () => Call,
  { goesOn = () => true }: { goesOn?: (outcome: Outcome) => boolean } = {},
): { outcomes: Outcome[]; stop(): Promise<Outcome[]> } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const outcomes: Outcome[] = [];
  let isStopping = false;
  const sending = (async () => {
    while (!isStopping) {
      const outcome = await send(url, next(), agent);
      outcomes.push(outcome);
      if (!goesOn(outcome)) break;
    }
    agent.destroy();
  })();
  return {
    outcomes,
    async stop() {
      isStopping = true;
      await sending;
      return outcomes;
    },
  };
}

/** Requests of each kind that somebody with an account makes. */
export interface Person {
  token: string;
  search(): Call;
  profile(): Call;
  bio(): Call;
  login(): Call;
  upload(): Call;
}

/** Signs somebody up and gives them some spaces to be found. No two requests for searches are alike. */
export async function settle(url: string, spaces = 50): Promise<Person> {
  const client = createClient(createConfig({ baseUrl: url }));
  const account = { email: 'ada@example.org', password: 'correct horse battery' };
  const { data } = await api.register({
    client,
    body: { username: 'ada', ...account },
    throwOnError: true,
  });
  const token = data.access_token;
  for (let i = 0; i < spaces; i += 1) {
    const body = {
      title: `Bread number ${i}`,
      description: 'Flour, water, salt and time, kneaded and baked by many hands',
      visibility: 'public' as const,
      tags: ['baking'],
    };
    await api.createSpace({ client, auth: token, body, throwOnError: true });
  }
  const form = new Response(
    await (async () => {
      const parts = new FormData();
      parts.append('avatar', await avatarFile(), 'avatar.png');
      return parts;
    })(),
  );
  const formType = form.headers.get('content-type') ?? '';
  const formBody = Buffer.from(await form.arrayBuffer());

  const authorization = `Bearer ${token}`;
  const json = (name: string, method: string, path: string, content: object, headers = {}) => {
    const body = Buffer.from(JSON.stringify(content));
    const length = { 'content-length': String(body.length) };
    return {
      ...{ name, method, path, body },
      headers: { 'content-type': 'application/json', ...length, ...headers },
    };
  };
  let count = 0;
  const next = () => {
    count += 1;
    return count;
  };
  return {
    token,
    search: () => ({
      ...{ name: 'search', method: 'GET', headers: {} },
      path: `/api/spaces/search?q=bread%20${next()}`,
    }),
    profile: () => ({
      ...{ name: 'profile', method: 'GET', path: '/api/profile/me', headers: { authorization } },
    }),
    bio: () =>
      json('bio', 'PUT', '/api/profile/bio', { bio: `The bio no. ${next()}` }, { authorization }),
    login: () => json('login', 'POST', '/api/auth/login', account),
    upload: () => ({
      ...{ name: 'upload', method: 'PUT', path: '/api/profile/picture', body: formBody },
      headers: {
        ...{ authorization, 'content-type': formType, 'content-length': String(formBody.length) },
      },
    }),
  };
}

/** The smallest value that at least `share` of the values do not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function duration({ begun, ended }: Outcome): number {
  return ended - begun;
}
