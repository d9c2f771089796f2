import { expect } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { itemsOf as itemsOfPage } from '../support/pages.ts';
import type { Services } from './services.ts';

/** The compared parts of a response. */
export interface Page {
  status: number;
  /** The body as sent, except its cursors, which each database encrypts with its own key; or only the code of a problem. */
  body: string;
  answeredQuery: string | undefined;
}

type Response = Awaited<ReturnType<TestApp['app']['inject']>>;

/** Requests all pages of a list from one service. For another operation, requests its only response. */
async function readPages(
  { app }: TestApp,
  path: string,
  headers: Record<string, string> = {},
): Promise<Page[]> {
  const pages: Page[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const response: Response = await app.inject({ url: next, headers });
    const { statusCode: status, headers: received } = response;
    const answeredQuery = received['answered-query'] as string | undefined;
    // A problem contains the id of the request.
    const body = status === 200 ? withoutCursor(response.body) : JSON.parse(response.body).code;
    pages.push({ status, body, answeredQuery });
    next = /^<(.+)>; rel="next"$/.exec(String(received.link))?.[1];
  }
  return pages;
}

/** Expects the same pages from both services, and returns them. */
export async function comparePages(
  { sqlite, postgresql }: Services,
  path: string,
  headers: Record<string, string> = {},
): Promise<Page[]> {
  const expected = await readPages(sqlite, path, headers);
  const found = await readPages(postgresql, path, headers);
  expect({ path, pages: found }).toEqual({ path, pages: expected });
  return expected;
}

function withoutCursor(body: string): string {
  return body.replace(/"(next|newer)_cursor":"[\w-]+"/g, '"$1_cursor":"(a cursor)"');
}

export function itemsOf(pages: readonly Page[]): unknown[] {
  return pages.flatMap(({ body }) => itemsOfPage<unknown>(JSON.parse(body)));
}
