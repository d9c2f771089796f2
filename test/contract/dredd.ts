import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A request and the response that Dredd expects, made of the contract's examples. */
export interface Transaction {
  /** Identifies the verdict in the report. */
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

export interface Verdict {
  transaction: Transaction;
  /** Dredd's objections to the response; empty if it passes. */
  objections: string;
}

/**
 * Runs Dredd, which sends every transaction of a contract to a server in sequence.
 * @param contract the path of an OpenAPI 3.0 file
 * @param prepare  changes each transaction before it is sent; the transaction fails if it rejects
 * @returns the verdicts on transactions that were not skipped
 */
export async function runDredd(
  contract: string,
  url: string,
  prepare: (transaction: Transaction) => Promise<void>,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  let transaction: Transaction;
  const judge = (objections: string) => verdicts.push({ transaction, objections });
  const emitter = new EventEmitter();
  emitter.on('test pass', () => judge(''));
  emitter.on('test fail', ({ message }: { message: string }) => judge(message.trim() || 'failed'));
  emitter.on('test error', (error: Error) => judge(String(error)));

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
    // Otherwise it warns of every OpenAPI keyword that its parser ignores.
    loglevel: 'error',
  });
  await new Promise<void>((resolve, reject) =>
    dredd.run((error) => (error ? reject(error) : resolve())),
  );
  return verdicts;
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
