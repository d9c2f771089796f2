import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Problem } from '../generated/types.gen.ts';
import { contract, findOperation } from '../server/contract.ts';
import type { Pointer } from '../server/errors.ts';
import { HttpProblem, invalidValues, KEYWORD_CODES, notFound } from '../server/http/problems.ts';
import { escapePointer } from '../server/text/storable.ts';
import { readBody } from './bodies.ts';
import { hasResponse, noSuchResponse, type Preferences } from './preferences.ts';
import { openPrism, type Selection, type Violation } from './prism.ts';

/** A response to send. */
export interface MockResponse {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
}

export type Examples = Awaited<ReturnType<typeof openExamples>>;

/**
 * Returns a function that responds with the selected example, or with the one of success if the request is valid.
 *
 * It throws an HttpProblem if the request is invalid, or if the contract does not have the path, the method or the
 * selected example.
 * @param baseUrl the mock's own base URL, which replaces the one in examples
 */
export async function openExamples(baseUrl: string) {
  const exampleUrl = contract.servers[0]?.url ?? '';
  const askPrism = await openPrism(
    JSON.parse(JSON.stringify(contract).replaceAll(exampleUrl, baseUrl)),
  );

  return async (
    incoming: IncomingMessage,
    { selection, retryAfter }: Preferences,
  ): Promise<MockResponse> => {
    const {
      method = '',
      headers: { authorization },
    } = incoming;
    const url = URL.parse(incoming.url ?? '', baseUrl);
    if (url === null) throw notFound();
    const body = selection ? undefined : await readBody(incoming);
    const request = { method, url, authorization, body };
    // Every list has two pages.
    const lastPage = { example: 'last' };
    const operation = findOperation(method, url.pathname);
    const isLastPage = url.searchParams.has('cursor') && hasResponse(operation, lastPage);
    const selected = selection ?? (isLastPage ? lastPage : {});
    const response = await askPrism(request, selected, selection === undefined).catch((error) => {
      throw problemOf(error, selection);
    });
    const { status, violations } = response;
    const [violation] = violations;
    // The example of 401 fits every request. Those of 400 and 415 can be about other errors.
    if (violation && status !== 401) {
      throw violation.code === 415
        ? new HttpProblem('unsupported_media_type', `${violation.message}.`)
        : invalidValues(violations.map(explainViolation));
    }
    const headers = new Headers(response.headers);
    const { request_id: requestId } = response.body as Partial<Problem>;
    if (requestId !== undefined) headers.set('x-request-id', requestId);
    if (selected.example === 'last') headers.delete('link');
    if (retryAfter !== undefined && headers.has('retry-after')) {
      headers.set('retry-after', `${retryAfter}`);
    }
    if (status === 429) {
      headers.set('ratelimit-remaining', '0');
      headers.set('ratelimit-reset', headers.get('retry-after') ?? '');
      // Only quotas have it, and all operations share this response.
      if (!operation?.countsAs) headers.delete('ratelimit-policy');
    }
    const after = url.searchParams.get('after');
    if (after !== null && status === 200) {
      // Nothing happens in the examples. Otherwise, a client that follows a list would repeat its request at once.
      const body = response.body as Record<string, unknown>;
      Object.assign(body, { items: [], next_cursor: null, newer_cursor: after });
      if ('unread' in body) body.unread = null;
      headers.delete('link');
      await sleep(1000 * Number(url.searchParams.get('wait')));
    }
    if (url.searchParams.get('as_typed') === 'true') headers.delete('answered-query');
    return { status, headers: Object.fromEntries(headers), body: JSON.stringify(response.body) };
  };
}

/** @param error an error of Prism, whose name is a URL */
function problemOf(error: Error & { detail?: string }, selection?: Selection): Error {
  if (error.name.endsWith('#NO_PATH_MATCHED_ERROR')) return notFound();
  if (error.name.endsWith('#NO_METHOD_MATCHED_ERROR')) {
    return new HttpProblem('method_not_allowed', `${error.detail}.`);
  }
  if (error instanceof URIError) {
    return new HttpProblem('invalid_request', 'The path is not valid percent-encoded UTF-8.');
  }
  if (selection === undefined) return error;
  return noSuchResponse(selection);
}

/** Converts an error in a request to the notation of the contract. */
function explainViolation({
  path: [part, ...steps] = [],
  code: keyword = '',
  message,
}: Violation): Pointer {
  // Only the message names a missing or unknown field.
  const name = /'([^']*)'$/.exec(message)?.[1];
  if (name !== undefined) steps.push(name);
  const code = KEYWORD_CODES[keyword] ?? 'malformed';
  const explain = (text: string): Pointer =>
    part === 'query' || part === 'path' || part === 'header'
      ? { in: part, pointer: steps.join(), code, message: text }
      : { pointer: steps.map((step) => `/${escapePointer(step)}`).join(''), code, message: text };
  if (keyword === 'required') return explain('is missing');
  if (keyword === 'additionalProperties') return explain('is not a known field');
  return explain(/\bmust .*$/.exec(message)?.[0] ?? 'is invalid');
}
