import { pino } from 'pino';

/** A request and its response, as seen by a client. */
export interface Exchange {
  method: string;
  url: string;
  /** The JSON text of the request body; undefined without a body and for other types. */
  requestBody?: string | undefined;
  requestType?: string | undefined;
  status: number;
  headers: Headers;
  body: string;
}

// What the current test did last. A failed test prints it.

const MAX_EXCHANGES = 3;
const MAX_BODY_CHARACTERS = 1_000;

const exchanges: Exchange[] = [];
const errors: string[] = [];

export function recordExchange(exchange: Exchange): void {
  exchanges.push(exchange);
  if (exchanges.length > MAX_EXCHANGES) exchanges.shift();
}

/** The log of an application under test. Keeps only errors, such as the causes of responses with 500. */
export const errorLog = pino(
  { level: 'error' },
  {
    write(line: string) {
      const { err, msg } = JSON.parse(line);
      errors.push(err?.stack ?? msg);
    },
  },
);

export function forgetRecent(): void {
  exchanges.length = 0;
  errors.length = 0;
}

/** Returns the last requests with their responses, and all errors that the application has logged. */
export function describeRecent(): string {
  return [...exchanges.map(describeExchange), ...errors.map((each) => `Logged: ${each}`)].join(
    '\n\n',
  );
}

/** Returns the request and the response of an exchange as two lines. */
export function describeExchange({ method, url, requestBody, status, body }: Exchange): string {
  const { pathname, search } = new URL(url);
  const sent = requestBody === undefined ? '' : ` ${shorten(requestBody)}`;
  return `> ${method} ${pathname}${search}${sent}\n< ${status} ${shorten(body)}`;
}

function shorten(text: string): string {
  return text.length > MAX_BODY_CHARACTERS ? `${text.slice(0, MAX_BODY_CHARACTERS)}…` : text;
}
