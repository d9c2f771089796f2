import { EventEmitter } from 'node:events';
import { fileURLToPath } from 'node:url';
import { REQUEST_TIMEOUT_MS } from './exchange.ts';

/** A request and the response that Dredd expects, built from the contract's examples. */
export interface Transaction {
  /** Identifies the transaction in the report. */
  id: string;
  host: string;
  port: string | null;
  /** Path and query. Includes the path of the server's URL. */
  fullPath: string;
  request: { method: string; headers: Record<string, string>; body: string | Buffer<ArrayBuffer> };
  expected: { statusCode: string; headers: Record<string, string>; bodySchema?: object };
  origin: { resourceName: string };
  /** Set to skip the transaction. */
  skip: boolean;
  /** Set to a reason to fail the transaction. */
  fail?: string;
  /** The actual response. */
  real?: { statusCode: number; headers: Record<string, string>; body: string };
}

/** A difference between a response and the expected one. */
export interface Difference {
  message: string;
  /** Of the body: JSON Pointer of the value. Of the headers: `/` and the name in lower case. */
  location?: { pointer: string };
}

export type Differences = Partial<Record<'statusCode' | 'headers' | 'body', Difference[]>>;

export interface Result {
  transaction: Transaction;
  /** The reason why the request was not sent, or got no response. */
  error?: unknown;
  /** The differences in each part of the response. */
  differences: Differences;
}

interface Test {
  results: { fields?: Record<string, { errors: Difference[] }> };
}

/**
 * Runs Dredd, which sends every transaction of a contract to a server in sequence.
 * @param contract an OpenAPI document in JSON
 * @param prepare changes each transaction before it is sent; if it rejects, the transaction fails
 * @param interruption skips the remaining transactions
 * @returns the results of the transactions that were not skipped
 */
export async function runDredd(
  url: string,
  contract: string,
  prepare: (transaction: Transaction) => Promise<void>,
  interruption?: AbortSignal,
): Promise<Result[]> {
  const results: Result[] = [];
  let transaction: Transaction;
  let preparationError: unknown;
  const emitter = new EventEmitter();
  emitter.on('test pass', () => results.push({ transaction, differences: {} }));
  emitter.on('test fail', ({ results: { fields = {} } }: Test) => {
    const parts = Object.entries(fields).map(([name, { errors }]) => [name, errors]);
    results.push({
      transaction,
      error: preparationError,
      differences: Object.fromEntries(parts),
    });
  });
  emitter.on('test error', (error: Error) => results.push({ transaction, error, differences: {} }));

  const Dredd = await loadDredd();
  const dredd = new Dredd({
    endpoint: url,
    apiDescriptions: [{ location: 'openapi.json', content: contract }],
    emitter,
    hookfiles: [fileURLToPath(new URL('hooks.cjs', import.meta.url))],
    custom: {
      prepare: async (next: Transaction, done: () => void) => {
        transaction = next;
        preparationError = undefined;
        if (!interruption?.aborted) {
          await prepare(next).catch((error) => {
            preparationError = error;
            next.fail = String(error);
          });
        }
        // The interruption can also have happened during the preparation.
        if (interruption?.aborted) next.skip = true;
        done();
      },
    },
    http: { timeout: REQUEST_TIMEOUT_MS },
    // With another level, Dredd warns about every OpenAPI keyword that its parser ignores.
    loglevel: 'error',
  });
  await new Promise<void>((resolve, reject) =>
    dredd.run((error) => (error ? reject(error) : resolve())),
  );
  return results;
}

interface DreddConstructor {
  new (configuration: object): { run(callback: (error?: Error) => void): void };
}

/** Loads Dredd without its output per transaction and without warnings about its dependencies. */
async function loadDredd(): Promise<DreddConstructor> {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  // @ts-expect-error Dredd has no types.
  const { default: Dredd } = await import('dredd');
  // @ts-expect-error Dredd has no types.
  const { default: logger } = await import('dredd/build/reporters/reporterOutputLogger.js');
  process.emitWarning = emitWarning;
  // Vitest has already read the default export of the CommonJS module.
  (logger.default ?? logger).transports.console.silent = true;
  return Dredd;
}
