import type { TestApp } from './app.ts';

/** A `Link` header with one reference: a path and query in the characters of RFC 3986. */
const NEXT = /^<(\/(?:[\w\-.~:/?@!$&'()*+,;=]|%[0-9A-F]{2})*)>; rel="next"$/i;

/**
 * Returns path and query of the next page, or undefined on the last page.
 * @throws Error if the `Link` header is malformed
 */
export function nextPage({ headers }: Response): string | undefined {
  const link = headers.get('link');
  if (link === null) return undefined;
  const next = NEXT.exec(link)?.[1];
  if (next === undefined) throw new Error(`Malformed link to a next page: ${link}`);
  return next;
}

/** Returns the items of a page. The two searches return them as an array. */
export function itemsOf<T>(page: T[] | { items: T[] }): T[] {
  return Array.isArray(page) ? page : page.items;
}

/** Reads the items of all pages of a list, starting at `path`. */
export async function readPages<T>(
  app: Pick<TestApp, 'fetch'>,
  path: string,
  init?: RequestInit,
): Promise<T[][]> {
  const pages: T[][] = [];
  const visited = new Set<string>();
  for (let next: string | undefined = path; next !== undefined; ) {
    if (visited.has(next)) throw new Error(`A link leads back to the page ${next}`);
    visited.add(next);
    const response = await app.fetch(next, init);
    if (response.status !== 200) throw new Error(`${response.status} for ${next}`);
    pages.push(itemsOf<T>(await response.json()));
    next = nextPage(response);
  }
  return pages;
}
