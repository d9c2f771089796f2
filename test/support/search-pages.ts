import type { TestApp } from './app.ts';
import { nextPage } from './pages.ts';

export function searchPath(q: string, limit: number, asTyped = false): string {
  const parameters = new URLSearchParams({ q, limit: String(limit) });
  if (asTyped) parameters.set('as_typed', 'true');
  return `/api/spaces/search?${parameters}`;
}

export function tagPath(tag: string, limit: number): string {
  return `/api/spaces/tag/${encodeURIComponent(tag)}?limit=${limit}`;
}

/** Requests one page of a list. */
export async function getPage(app: Pick<TestApp, 'fetch'>, path: string, init?: RequestInit) {
  const response = await app.fetch(path, init);
  return { status: response.status, body: await response.json(), next: nextPage(response) };
}
