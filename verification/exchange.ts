import { findOperation } from '../server/contract.ts';
import { shorten } from './text.ts';

/** Maximum length of the text of a request or response in a check. Some requests are too large on purpose. */
export const MAX_TEXT_LENGTH = 2_000;

/** Maximum time until a response. */
export const REQUEST_TIMEOUT_MS = 30_000;

/** The result of a function of the generated client. */
export interface Exchange<T> {
  data?: T;
  error?: unknown;
  request?: Request;
  response?: Response;
}

/** A response that differs from the expected one, or a missing response. */
export class UnexpectedResponse extends Error {
  /** Method and path. */
  readonly request: string;
  /** Status, content type and body; undefined if there was no response. */
  readonly response: string | undefined;
  readonly status: number | undefined;

  /** @param deviation completes the sentence "GET /api/… returned no list" */
  constructor({ data, error, request, response }: Exchange<unknown>, deviation: string) {
    const { pathname, search } = new URL(request?.url ?? 'http://unknown');
    const sent = `${request?.method} ${pathname}${search}`;
    super(response ? `${sent} ${deviation}` : explainNetworkError(error));
    this.request = sent;
    this.status = response?.status;
    const body = data ?? error;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    this.response = response
      ? shorten(
          `${response.status} ${response.headers.get('content-type') ?? ''} ${text}`,
          MAX_TEXT_LENGTH,
        )
      : undefined;
  }
}

/** A request for the data of a check that has failed, so that checks with this data cannot run. */
export class FailedOperation extends UnexpectedResponse {
  readonly operationId: string;

  constructor(operationId: string, exchange: Exchange<unknown>, deviation?: string) {
    super(exchange, deviation ?? `returned ${exchange.response?.status}`);
    this.operationId = operationId;
  }
}

/** A failed operation that the server does not implement. */
export class MissingOperation extends FailedOperation {}

/**
 * Resolves to the body of a successful response.
 * @throws MissingOperation if the server does not implement the operation
 * @throws FailedOperation for every other response, and for a body with an id of another type
 * @throws UnexpectedResponse without a response
 */
export async function dataOf<T>(call: Promise<Exchange<T>>): Promise<T> {
  const exchange = await call;
  const { data, error, request, response } = exchange;
  if (!request || !response) throw new UnexpectedResponse(exchange, 'got no response');
  if (data !== undefined) {
    const wrong = Object.entries(data as object).find(
      ([name, value]) => /(_id|access_token)$/.test(name) && typeof value !== 'string',
    );
    if (!wrong) return data;
    const deviation = `returned ${JSON.stringify(wrong[1])} as ${wrong[0]}, which must be a string`;
    throw new FailedOperation(operationOf(request), exchange, deviation);
  }
  const body = typeof error === 'string' ? error : JSON.stringify(error ?? null);
  const Failure = isNotImplemented(response.status, body) ? MissingOperation : FailedOperation;
  throw new Failure(operationOf(request), exchange);
}

/**
 * Returns whether a response shows that the server does not implement the operation: 405, 501, or a 404 without the
 * code of a missing resource, such as `space_not_found`.
 */
export function isNotImplemented(status: number, body: string): boolean {
  if (status !== 404) return status === 405 || status === 501;
  const [, code] = /"code"\s*:\s*"(\w+)"/.exec(body) ?? [];
  return code === undefined || code === 'not_found';
}

/**
 * Returns the id of the operation of a request.
 * @throws Error if the contract has none
 */
export function operationOf({ method, url }: Pick<Request, 'method' | 'url'>): string {
  const { pathname } = new URL(url);
  // The URL of the server can have a path, too.
  for (const { index } of pathname.matchAll(/(?=\/api\/)/g)) {
    const operation = findOperation(method, pathname.slice(index));
    if (operation) return operation.operationId;
  }
  throw new Error(`The contract has no ${method} ${pathname}`);
}

const NO_RESPONSE_IN_TIME = `no response within ${REQUEST_TIMEOUT_MS / 1_000} seconds`;

const networkErrors: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed by the server',
  UND_ERR_SOCKET: 'connection closed by the server',
  ENOTFOUND: 'unknown host name',
  EAI_AGAIN: 'unknown host name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the port does not use HTTPS',
  ESOCKETTIMEDOUT: NO_RESPONSE_IN_TIME,
  ETIMEDOUT: NO_RESPONSE_IN_TIME,
  TimeoutError: NO_RESPONSE_IN_TIME,
};

/** Explains why a request got no response. */
export function explainNetworkError(error: unknown): string {
  // `fetch` wraps the error of the connection.
  const { cause = error } = error as Error;
  const { code = '', name, message } = cause as NodeJS.ErrnoException;
  return networkErrors[code] ?? networkErrors[name] ?? message;
}
