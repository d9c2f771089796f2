import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { contract, operations } from './contract.ts';
import { formatJunit } from './junit.ts';
import { formatReport } from './report.ts';
import { InterruptedError, NotVerifiedError, prepareServer } from './server.ts';
import { type Verification, verify } from './verify.ts';
import { CleanupError, type Servers } from './world.ts';

type StartServers = (cleanup: AsyncDisposableStack, interruption: AbortSignal) => Promise<Servers>;

/** The program that runs the command. */
export interface Program {
  /** The command line up to the arguments, for messages. */
  name: string;
  /** Starts servers to verify if the arguments contain no URL. Disposing of `cleanup` stops them. */
  startServers?: StartServers;
}

/** Signals within this time are one Ctrl+C: the terminal and npm can both send it. */
const SAME_SIGNAL_MS = 1_000;

const EXIT_CODES = { passed: 0, failed: 1, notVerified: 2 };

/** Valid JUnit XML, which remains if the server cannot be verified. */
const NO_RESULTS = '<testsuites/>\n';

/** Verifies a server and prints the results. Resolves to the exit code. */
export async function runCommand(program: Program, args: string[]): Promise<number> {
  try {
    const { positionals, values } = parseArguments(program, args);
    if (values.help) {
      console.log(usageOf(program));
      return EXIT_CODES.passed;
    }
    const startServers = chooseServers(program, positionals, values);
    // An unwritable file is reported before the verification, not after it.
    if (values.junit !== undefined) writeJunit(values.junit, NO_RESULTS);
    const verification = await verifyServers(startServers, selectOperations(values.only));
    if (values.junit !== undefined) writeJunit(values.junit, formatJunit(verification));
    console.log(formatReport(verification, values.verbose ?? false));
    const hasFailed = verification.checks.some(({ causes }) => causes.length > 0);
    return hasFailed ? EXIT_CODES.failed : EXIT_CODES.passed;
  } catch (error) {
    // The error that ended the check, then that of the clean-up.
    const errors = error instanceof SuppressedError ? [error.suppressed, error.error] : [error];
    for (const each of errors) {
      if (each instanceof InterruptedError) continue;
      const isExpected = each instanceof NotVerifiedError || each instanceof CleanupError;
      // Every other error is a bug, which needs its stack.
      console.error(isExpected ? each.message : each);
    }
    return EXIT_CODES.notVerified;
  }
}

function usageOf({ name, startServers }: Program): string {
  const url = startServers ? '[url]' : '<url>';
  return `Usage: ${name} ${url} [options]

Verifies that a server implements version ${contract.info.version} of openapi.yaml: compares the
declared responses of each operation with those of the server, and checks that
changes appear in profiles and search results.

  url                  the server, without the path /api${
    startServers
      ? '; without a URL,\n                       starts servers with temporary data'
      : ''
  }
  --email ADDRESS      send most requests as this account and replace its avatar
  --password PASSWORD  the password of this account
  --only OPERATIONS    check only these, such as searchSpaces,changeBio
  --junit FILE         also write the results as JUnit XML
  -v, --verbose        show all failed checks in full, and what is not checked
  -h, --help           show this text

Registers accounts (contract-…@example.com) that create a few public spaces, and
deletes them at the end.

Exit codes: ${EXIT_CODES.passed} all checks passed, ${EXIT_CODES.failed} a check failed, ${EXIT_CODES.notVerified} not verified,
for example because the server is unreachable.`;
}

type Values = ReturnType<typeof parseArguments>['values'];

function parseArguments({ name }: Program, args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        email: { type: 'string' },
        password: { type: 'string' },
        only: { type: 'string' },
        junit: { type: 'string' },
        verbose: { type: 'boolean', short: 'v' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    const [message] = (error as Error).message.split('. ', 1);
    throw new NotVerifiedError(`${message}. ${name} --help lists the options.`);
  }
}

function chooseServers(program: Program, positionals: string[], values: Values): StartServers {
  const [text, ...others] = positionals;
  const { email, password } = values;
  if ((email === undefined) !== (password === undefined)) {
    throw new NotVerifiedError('--email and --password require each other.');
  }
  if (text === undefined && program.startServers && email === undefined) {
    return program.startServers;
  }
  if (text === undefined || others.length > 0) {
    throw new NotVerifiedError(
      `Pass the URL of one server. ${program.name} --help shows the usage.`,
    );
  }
  const url = parseUrl(text);
  const credentials =
    email === undefined || password === undefined ? undefined : { email, password };
  return (cleanup, interruption) => prepareServer(url, credentials, cleanup, interruption);
}

/** Returns the ids of the operations to check. */
function selectOperations(only: string | undefined): Set<string> {
  const known = operations.map(({ operationId }) => operationId);
  if (only === undefined) return new Set(known);
  const selected = only.split(',').map((each) => each.trim());
  const unknown = selected.filter((each) => !known.includes(each));
  if (unknown.length > 0) {
    throw new NotVerifiedError(
      `openapi.yaml has no operation "${unknown[0]}". Pass operation ids such as ${known[0]},${known[1]}.`,
    );
  }
  return new Set(selected);
}

/** Returns the URL without a slash at its end. */
function parseUrl(text: string): string {
  const url = URL.parse(text);
  const isServer = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash;
  if (!isServer) {
    throw new NotVerifiedError(
      `"${text}" is not the URL of a server, such as http://127.0.0.1:3000.`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

async function verifyServers(
  startServers: StartServers,
  selected: Set<string>,
): Promise<Verification> {
  const interruption = interruptBySignals();
  await using cleanup = new AsyncDisposableStack();
  const servers = await startServers(cleanup, interruption);
  interruption.throwIfAborted();
  const { version } = contract.info;
  const isWhole = selected.size === operations.length;
  const extent = isWhole ? '' : `${selected.size} of the ${operations.length} operations in `;
  console.log(
    `Verifying ${servers.world.url} against ${extent}version ${version} of openapi.yaml.\n`,
  );
  // With `await`, because leaving this function disposes of `cleanup`.
  return await verify(servers, cleanup, (operationId) => selected.has(operationId), interruption);
}

/**
 * Returns a signal that is aborted by Ctrl+C. Then the verification stops before its next request and deletes the test
 * data. Deleting it at once would miss what a request in progress creates.
 */
function interruptBySignals(): AbortSignal {
  const controller = new AbortController();
  const signals = ['SIGINT', 'SIGTERM'] as const;
  let interruptedAt = 0;
  const interrupt = (signal: NodeJS.Signals) => {
    if (!controller.signal.aborted) {
      interruptedAt = performance.now();
      console.error(
        'Interrupted. Deleting the test data; a second signal leaves it on the server.',
      );
      controller.abort(new InterruptedError());
    } else if (performance.now() - interruptedAt > SAME_SIGNAL_MS) {
      for (const each of signals) process.off(each, interrupt);
      process.kill(process.pid, signal);
    }
  };
  for (const signal of signals) process.on(signal, interrupt);
  return controller.signal;
}

function writeJunit(file: string, xml: string): void {
  try {
    writeFileSync(file, xml);
  } catch (error) {
    throw new NotVerifiedError(`Cannot write ${file}: ${(error as Error).message}`);
  }
}
