import type * as sdk from '../../generated/sdk.gen.ts';
import type { Problem, Registration, Session } from '../../generated/types.gen.ts';
import type { Operation } from '../../server/contract.ts';
import type { Account } from '../accounts.ts';
import { operations, problemStatuses } from '../contract.ts';
import { isNotImplemented } from '../exchange.ts';
import { shorten } from '../text.ts';
import { secondsToWait, waitFor } from '../waiting.ts';
import { Deviation } from './expectations.ts';
import { explainViolation } from './responses.ts';

export type OperationId = keyof typeof sdk;

/** The body of a successful response. */
export type Body<Id extends OperationId> = NonNullable<
  Awaited<ReturnType<(typeof sdk)[Id]>>['data']
>;

/** The parameters of a request by name, and the fields of its body. `undefined` leaves one out. */
export type Inputs = Readonly<Record<string, unknown>>;

export interface Extras {
  headers?: Record<string, string>;
  /** Query parameters besides those of the inputs: undeclared or repeated ones. */
  query?: Record<string, string>;
  /** Replaces the body. */
  body?: string | FormData | Uint8Array<ArrayBuffer>;
  /** Whether 429 and 503 are responses like any other. By default, the request is repeated after `Retry-After`. */
  acceptsLimit?: boolean;
  /** Ends the request. */
  signal?: AbortSignal;
}

export interface Exchange {
  status: number;
  headers: Headers;
  /** The parsed JSON; undefined without a body. */
  body: unknown;
}

/** An operation that the server does not have, so that a scenario cannot run. */
export class MissingOperation extends Error {
  readonly operationId: OperationId;

  constructor(operationId: OperationId) {
    super(`${operationId} is not implemented`);
    this.operationId = operationId;
  }
}

/** How requests reach the server. */
export interface Transport {
  url: string;
  fetch: typeof fetch;
  /** Called with a line about each exchange. */
  onExchange(line: string, operationId: string): void;
  /** Called with each account that the server has registered. */
  onRegistration(registration: Registration, token: string): void;
  interruption: AbortSignal | undefined;
}

const byId = new Map(operations.map((each) => [each.operationId, each]));

/** Maximum length of a body in the lines about exchanges. */
const MAX_SHOWN_LENGTH = 160;

/** Sends requests to a server, and validates each response against the contract. */
export class Caller {
  readonly #transport: Transport;
  readonly #token: string | undefined;

  constructor(transport: Transport, token?: string) {
    this.#transport = transport;
    this.#token = token;
  }

  /** Returns the same server with another access token. */
  withToken(token: string): Caller {
    return new Caller(this.#transport, token);
  }

  /**
   * Returns the response to a request.
   * @throws Deviation if the response differs from every response that the contract declares
   */
  async exchange(
    operationId: OperationId,
    inputs: Inputs = {},
    extras: Extras = {},
  ): Promise<Exchange> {
    const operation = byId.get(operationId);
    if (!operation) throw new Error(`The contract has no operation ${operationId}.`);
    const { path, init } = requestOf(operation, inputs, extras);
    const headers = new Headers({ ...init.headers, ...extras.headers });
    if (this.#token !== undefined && !headers.has('authorization')) {
      headers.set('authorization', `Bearer ${this.#token}`);
    }
    for (let waits = 0; ; waits += 1) {
      const exchange = await this.#send(operation, path, { ...init, headers }, extras);
      const seconds = extras.acceptsLimit ? undefined : secondsToWait(exchange, waits);
      if (seconds === undefined) return exchange;
      await waitFor(operationId, seconds, this.#transport.interruption);
    }
  }

  async #send(
    operation: Operation,
    path: string,
    init: RequestInit & { headers: Headers },
    { signal }: Extras,
  ): Promise<Exchange> {
    const { url, fetch, onExchange, onRegistration } = this.#transport;
    const request = async (attempts = 3): Promise<{ response: Response; text: string }> => {
      try {
        const response = await fetch(url + path, {
          ...init,
          redirect: 'manual',
          ...(signal && { signal }),
        });
        return { response, text: await response.text() };
      } catch (error) {
        // A server may close a connection on which it has rejected a body as too large, also while the client still sends
        // it or reads the response. A client may repeat a request if that is harmless (RFC 9110, 9.2.2).
        const { code = '' } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
        const isRepeatable = CLOSED_CONNECTION.includes(code) && operation.method !== 'POST';
        if (!isRepeatable || attempts === 1) throw error;
        return request(attempts - 1);
      }
    };
    const { response, text } = await request();
    const { status, headers } = response;
    const sent = typeof init.body === 'string' ? ` ${init.body}` : '';
    onExchange(
      `${operation.method} ${shorten(path + sent, MAX_SHOWN_LENGTH)} → ${status} ${shorten(text, MAX_SHOWN_LENGTH)}`,
      operation.operationId,
    );
    if (operation.operationId === 'register' && status < 300 && typeof init.body === 'string') {
      const { access_token } = JSON.parse(text) as Session;
      onRegistration(JSON.parse(init.body), access_token);
    }
    // Also if the contract declares 404: that of an unknown path is no response of the operation.
    if (isNotImplemented(status, text)) {
      throw new MissingOperation(operation.operationId as OperationId);
    }
    const violation = explainViolation(operation, response, text);
    if (violation) throw new Deviation(`${operation.operationId} ${status}: ${violation}`);
    return { status, headers, body: text === '' ? undefined : JSON.parse(text) };
  }

  /** Returns the response to a `HEAD` request for an operation with `GET`. */
  async head(
    operationId: OperationId,
    inputs: Inputs = {},
  ): Promise<{ status: number; headers: Headers }> {
    const operation = byId.get(operationId);
    if (!operation) throw new Error(`The contract has no operation ${operationId}.`);
    const { url, fetch, onExchange, interruption } = this.#transport;
    const { path } = requestOf(operation, inputs, {});
    const headers =
      this.#token === undefined ? undefined : { authorization: `Bearer ${this.#token}` };
    for (let waits = 0; ; waits += 1) {
      const response = await fetch(url + path, {
        method: 'HEAD',
        redirect: 'manual',
        ...(headers && { headers }),
      });
      onExchange(`HEAD ${path} → ${response.status}`, operationId);
      const seconds = secondsToWait(response, waits);
      if (seconds === undefined) return response;
      await waitFor(operationId, seconds, interruption);
    }
  }

  /** Requests a file at a URL of a response, such as an avatar. */
  async fetchFile(
    url: string,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
    for (let waits = 0; ; waits += 1) {
      // With another value, `fetch` adds `no-cache` to conditional requests.
      const response = await this.#transport.fetch(url, {
        headers: { 'cache-control': 'max-age=0', ...headers },
      });
      this.#transport.onExchange(`GET ${url} → ${response.status}`, '');
      const bytes = Buffer.from(await response.arrayBuffer());
      const seconds = secondsToWait(response, waits);
      if (seconds === undefined)
        return { status: response.status, headers: response.headers, bytes };
      await waitFor('an avatar', seconds, this.#transport.interruption);
    }
  }

  /**
   * Returns the body of a successful response.
   * @throws Deviation for any other response
   */
  async call<Id extends OperationId>(
    operationId: Id,
    inputs?: Inputs,
    extras?: Extras,
  ): Promise<Body<Id>> {
    const { status, body } = await this.exchange(operationId, inputs, extras);
    if (status >= 200 && status < 300) return body as Body<Id>;
    const { code, detail } = body as Problem;
    // The 404 of an unknown path, not that of a resource.
    if (isNotImplemented(status, JSON.stringify(body))) throw new MissingOperation(operationId);
    throw new Deviation(`${operationId} was refused: ${status} ${code} (${detail})`);
  }

  /**
   * Sends a request that must get a problem with one of these codes, and returns the problem.
   * @throws Deviation for any other response
   */
  async refused(
    operationId: OperationId,
    inputs: Inputs,
    codes: string | readonly string[],
    extras?: Extras,
  ): Promise<Problem> {
    const expected = [codes].flat();
    const { status, body } = await this.exchange(operationId, inputs, extras);
    const { code } = (body ?? {}) as Partial<Problem>;
    const matches = expected.some((each) => code === each && status === problemStatuses[each]);
    if (matches) return body as Problem;
    const statuses = expected.map((each) => `${problemStatuses[each]} ${each}`).join(' or ');
    const actual = status >= 400 ? `${status} ${code}` : `${status}`;
    throw new Deviation(`${operationId} returned ${actual} instead of ${statuses}`);
  }
}

const CLOSED_CONNECTION = ['EPIPE', 'ECONNRESET', 'UND_ERR_SOCKET'];

/** A caller with an access token. */
export class User extends Caller {
  readonly account: Account;

  constructor(transport: Transport, account: Account, token = account.token) {
    super(transport, token);
    this.account = account;
  }

  get id(): string {
    return this.account.userId;
  }
}

/** Distributes the inputs of a request over its path, query, headers and body. */
function requestOf(
  operation: Operation,
  inputs: Inputs,
  extras: Extras,
): {
  path: string;
  init: { method: string; headers: Record<string, string>; body?: NonNullable<Extras['body']> };
} {
  const { method, bodyType, isBodyRequired, parameters } = operation;
  const fields = new Map(Object.entries(inputs).filter(([, value]) => value !== undefined));
  const headers: Record<string, string> = {};
  const query = new URLSearchParams(extras.query);
  let { path } = operation;
  for (const { name, in: location } of parameters) {
    if (!fields.has(name)) continue;
    const value = String(fields.get(name));
    fields.delete(name);
    if (location === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (location === 'query') query.append(name, value);
    else headers[name] = value;
  }
  if (query.size > 0) path += `?${query}`;
  if (extras.body !== undefined) {
    if (bodyType === 'application/json') headers['content-type'] = bodyType;
    return { path, init: { method, headers, body: extras.body } };
  }
  if (bodyType === 'multipart/form-data') {
    const body = new FormData();
    for (const [name, file] of fields) body.set(name, new Blob([file as BlobPart]), 'avatar');
    return { path, init: { method, headers, body } };
  }
  if (bodyType === null && fields.size > 0) {
    throw new Error(`${operation.operationId} has no ${[...fields.keys()].join(', ')}.`);
  }
  if (bodyType === null || (fields.size === 0 && !isBodyRequired)) {
    return { path, init: { method, headers } };
  }
  headers['content-type'] = bodyType;
  return { path, init: { method, headers, body: JSON.stringify(Object.fromEntries(fields)) } };
}
