import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A request and the answer that Dredd will insist on, made of the contract's examples. */
export interface Transaction {
  /** What the verdict is reported under. */
  id: string;
  host: string;
  port: string | null;
  /** Path and query, behind the path of the server's URL. */
  fullPath: string;
  request: { method: string; headers: Record<string, string>; body: string | Buffer<ArrayBuffer> };
  expected: { statusCode: string; headers: Record<string, string>; bodySchema?: object };
  origin: { resourceName: string };
  /** Set to leave it out. */
  skip: boolean;
  /** Set to have it fail, to the reason. */
  fail?: string;
  /** What was answered. */
  real?: { statusCode: number; headers: Record<string, string>; body?: string };
}

export interface Verdict {
  transaction: Transaction;
  /** What Dredd has against the answer; empty if nothing. */
  objections: string;
}

/**
 * Has Dredd send every transaction of a contract to a server, one after the other.
 * @param contract the path of an OpenAPI 3.0 file
 * @param prepare  changes each transaction before it is sent; where it rejects, the transaction fails
 * @returns the verdicts on those that were not left out
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
    // It would warn of every keyword of OpenAPI that its parser passes over.
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

/** Dredd, without its line for every transaction, and without Node's warnings of its old dependencies. */
function loadDredd(): DreddConstructor {
  const require = createRequire(import.meta.url);
  const { emitWarning } = process;
  process.emitWarning = () => {};
  const Dredd = require('dredd');
  process.emitWarning = emitWarning;
  require('dredd/build/reporters/reporterOutputLogger').default.transports.console.silent = true;
  return Dredd;
}
