import type { TestApp } from './app.ts';

/** A `Link` header of one reference, relative to the server, of characters that RFC 3986 admits. */
const NEXT = /^<(\/(?:[\w\-.~:/?@!$&'()*+,;=]|%[0-9A-F]{2})*)>; rel="next"$/i;

/** Where the next page is, as path and query; undefined after the last. Refuses a malformed `Link`. */
export function nextPage({ headers }: Response): string | undefined {
  const link = headers.get('link');
  if (link === null) return undefined;
  const next = NEXT.exec(link)?.[1];
  if (next === undefined) throw new Error(`Not a link to a next page: ${link}`);
  return next;
}

/** All pages of a list, from `path` on to where no link leads further. */
export async function readPages<T>(
  app: Pick<TestApp, 'fetch'>,
  path: string,
  init?: RequestInit,
): Promise<T[][]> {
  const pages: T[][] = [];
  const visited = new Set<string>();
  for (let next: string | undefined = path; next !== undefined; ) {
    if (visited.has(next)) throw new Error(`A link leads back to ${next}`);
    visited.add(next);
    const response = await app.fetch(next, init);
    if (response.status !== 200) throw new Error(`${response.status} for ${next}`);
    pages.push((await response.json()) as T[]);
    next = nextPage(response);
  }
  return pages;
}
