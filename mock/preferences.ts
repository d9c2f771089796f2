import { type Operation, operations } from '../server/contract.ts';
import { HttpProblem, notFound } from '../server/http/problems.ts';
import type { Selection } from './prism.ts';

/** What a header `Prefer` (RFC 7240) demands of a response. */
export interface Preferences {
  /** Waits before the request is processed. */
  delayMs: number;
  /** An example instead of the usual response. */
  selection: Selection | undefined;
  /** Seconds for the header `Retry-After` of an example. */
  retryAfter: number | undefined;
  /** The status of an HTML page instead of the usual response, as captive portals and proxies send it. */
  htmlStatus: number | undefined;
  /** Closes the connection instead of responding, before or after the request is processed. */
  disconnection: 'before' | 'after' | undefined;
}

const MAX_DELAY_MS = 20_000;

/** Reads a header `Prefer`. Ignores other preferences and invalid values. */
export function readPreferences(header = ''): Preferences {
  const read = (name: string) =>
    new RegExp(`(?:^|,)\\s*${name}\\s*=\\s*"?([\\w-]+)`, 'i').exec(header)?.[1];
  const readInteger = (name: string) => {
    const text = read(name) ?? '';
    return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  };
  const code = readInteger('code');
  const html = readInteger('html');
  const disconnection = read('disconnect');
  return {
    delayMs: Math.min(readInteger('delay-ms') ?? 0, MAX_DELAY_MS),
    selection: code ? { code, example: read('example') } : undefined,
    retryAfter: readInteger('retry-after'),
    htmlStatus: html !== undefined && html >= 200 && html <= 599 ? html : undefined,
    disconnection:
      disconnection === 'before' || disconnection === 'after' ? disconnection : undefined,
  };
}

/** Preferences for the next requests of operations, which a client cannot set in a header of the request itself. */
export interface NextPreferences {
  /**
   * Adds the preferences for one request of an operation, after those that were added before.
   * @param authorization the header of the requests that they are for; undefined for those of every caller
   * @throws HttpProblem if the contract does not have the operation or the selected example, or without preferences
   */
  add(operationId: string, authorization: string | undefined, preferences: Preferences): void;
  /** Returns and removes those for a request of an operation. Undefined without any. */
  take(operationId: string | undefined, authorization: string | undefined): Preferences | undefined;
  clear(): void;
}

interface Entry {
  operationId: string;
  authorization: string | undefined;
  preferences: Preferences;
}

export function openNextPreferences(): NextPreferences {
  let entries: Entry[] = [];
  return {
    add(operationId, authorization, preferences) {
      const operation = operations.find((each) => each.operationId === operationId);
      if (!operation) throw notFound();
      const { selection, htmlStatus, disconnection, delayMs } = preferences;
      if (selection && !hasResponse(operation, selection)) throw noSuchResponse(selection);
      if (!selection && !htmlStatus && !disconnection && delayMs === 0) {
        throw new HttpProblem(
          'invalid_request',
          'The header Prefer must contain code=STATUS, html=STATUS, disconnect=before, disconnect=after or delay-ms=MILLISECONDS.',
        );
      }
      entries.push({ operationId, authorization, preferences });
    },
    take(operationId, authorization) {
      const found = entries.find(
        (entry) =>
          entry.operationId === operationId &&
          (entry.authorization === undefined || entry.authorization === authorization),
      );
      entries = entries.filter((entry) => entry !== found);
      return found?.preferences;
    },
    clear() {
      entries = [];
    },
  };
}

/** Returns whether the contract has an example. */
export function hasResponse(
  operation: Operation | undefined,
  { code = 200, example }: Selection,
): boolean {
  const [media] = Object.values(operation?.responses[code]?.content ?? {});
  return media !== undefined && (example === undefined || example in (media.examples ?? {}));
}

/** The problem of a selection that an operation does not have. */
export function noSuchResponse({ code, example }: Selection): HttpProblem {
  const response = `code=${code}${example === undefined ? '' : `, example=${example}`}`;
  return new HttpProblem('invalid_request', `The operation has no response with ${response}.`);
}
