import { HttpProblem } from '../server/http/problems.ts';
import type { Selection } from './prism.ts';

/** Less than the time limit of a request, because the body is read after the delay. */
const MAX_DELAY_MS = 20_000;

/**
 * Reads the header `Prefer` (RFC 7240). Ignores preferences with other names. The first value of a repeated
 * preference counts.
 * @throws HttpProblem if a value is invalid
 */
export function readPreferences(header = ''): { selection?: Selection; delayMs: number } {
  const values = new Map<string, string>();
  for (const preference of header.split(',')) {
    const [name = '', value = ''] = preference.split('=');
    const key = name.trim().toLowerCase();
    if (!values.has(key)) values.set(key, value.trim().replace(/^"(.*)"$/, '$1'));
  }
  const delay = values.get('delay-ms') ?? '0';
  if (!/^\d{1,5}$/.test(delay) || Number(delay) > MAX_DELAY_MS) {
    const limit = MAX_DELAY_MS.toLocaleString('en');
    throw invalidPreference(`delay-ms=${delay} is not a whole number from 0 to ${limit}`);
  }
  const delayMs = Number(delay);
  const code = values.get('code');
  const example = values.get('example');
  if (code === undefined && example === undefined) return { delayMs };
  if (code === undefined) {
    throw invalidPreference(`example=${example} requires a status, such as code=409`);
  }
  if (!/^\d{3}$/.test(code)) throw invalidPreference(`code=${code} is not a status such as 503`);
  return { selection: { code: Number(code), example }, delayMs };
}

export function invalidPreference(reason: string): HttpProblem {
  return new HttpProblem('invalid_request', `In the header Prefer, ${reason}.`);
}
