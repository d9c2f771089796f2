import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A request and the response that Dredd expects, built from the contract's examples. */
export interface Transaction {
  /** Identifies the transaction in the report. */
  id: string;
  host: string;
  port: string | null;
  /** Path and query, relative to the server's URL. */
  fullPath: string;
  request: { method: string; headers: Record<string, string>; body: string | Buffer<ArrayBuffer> };
  expected: { statusCode: string; headers: Record<string, string>; bodySchema?: object };
  origin: { resourceName: string };
  /** Set to skip the transaction. */
  skip: boolean;
  /** Set to a reason to fail the transaction. */
  fail?: string;
  /** The actual response. */
  real?: { statusCode: number; headers: Record<string, string>; body?: string };
}

export interface Result {
  transaction: Transaction;
  /** How the response differs from the expected one; empty if it passes. */
  errors: string;
}

/**
 * Runs Dredd, which sends every transaction of a contract to a server in sequence.
 * @param contract the path of an OpenAPI 3.0 file
 * @param prepare  changes each transaction before it is sent; if it rejects, the transaction fails
 * @returns the results of the transactions that were not skipped
 */
export async function runDredd(
  contract: string,
  url: string,
  prepare: (transaction: Transaction) => Promise<void>,
): Promise<Result[]> {
  const results: Result[] = [];
  let transaction: Transaction;
  const report = (errors: string) => results.push({ transaction, errors });
  const emitter = new EventEmitter();
  emitter.on('test pass', () => report(''));
  emitter.on('test fail', ({ message }: { message: string }) => report(message.trim() || 'failed'));
  emitter.on('test error', (error: Error) => report(String(error)));

  const Dredd = loadDredd();
  const dredd = new Dredd({
    endpoint: url,
    path: [contract],
    emitter,
    hookfiles: [fileURLToPath(new URL('hooks.cts', import.meta.url))],
    custom: {
      prepare: async (next: Transaction, done: () => void) => {
        transaction = next;
        await prepare(next).catch((error) => {
          next.fail = String(error);
        });
        done();
      },
    },
    http: { timeout: 30_000 },
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
function loadDredd(): DreddConstructor {
  const require = createRequire(import.meta.url);
  const { emitWarning } = process;
  process.emitWarning = () => {};
  const Dredd = require('dredd');
  process.emitWarning = emitWarning;
  require('dredd/build/reporters/reporterOutputLogger').default.transports.console.silent = true;
  return Dredd;
}
