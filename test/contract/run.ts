import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { declaredResponses } from './declared-responses.ts';
import { runDredd, type Verdict } from './dredd.ts';
import { prepareWith } from './preparation.ts';
import { prepareServer, startServers } from './servers.ts';
import type { Credentials } from './world.ts';

const USAGE = `Checks with Dredd that a server matches openapi.yaml: every operation, every status.

  npm run contract              starts servers with temporary data and checks them
  npm run contract -- <url> [--email <address> --password <password>]
                                checks a running server

The check registers temporary accounts (contract-…@example.com) and deletes them at the end with everything they
created. With an email address and a password, it sends most requests as that account. It restores the account's
username and bio at the end, but not its avatar, so use a test account. Other users of a running server may see a few
public spaces during the check. The temporary accounts reach their rate limits with up to 200 requests each. The check
lists the responses that it cannot provoke, with the reason. The exit code is 1 if any other response differs from the
contract.
`;

try {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      email: { type: 'string' },
      password: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const url = positionals[0]?.replace(/\/+$/, '');
  const { email, password } = values;
  if (values.help) console.log(USAGE);
  else if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new Error(`${url} is not the URL of a server.\n\n${USAGE}`);
  else if ((email === undefined) !== (password === undefined))
    throw new Error(`--email and --password require each other.\n\n${USAGE}`);
  else if (!(await check(url, email && password ? { email, password } : undefined)))
    process.exitCode = 1;
} catch (error) {
  printError(error);
  process.exitCode = 1;
}

/** Resolves to whether the server matches the contract. */
async function check(url: string | undefined, credentials?: Credentials): Promise<boolean> {
  await using closing = new AsyncDisposableStack();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, async () => {
      await closing.disposeAsync().catch(printError);
      process.exit(1);
    });
  }
  const servers = await (url === undefined
    ? startServers(closing)
    : prepareServer(url, closing, credentials));

  const skipped = new Map<string, string>();
  for (const { id } of declaredResponses)
    skipped.set(id, 'Dredd makes no request for it (it takes the first of several examples)');
  const prepare = prepareWith(servers, ({ id }, reason) => skipped.set(id, reason));
  const contract = fileURLToPath(new URL('../../openapi.yaml', import.meta.url));
  const verdicts = await runDredd(contract, servers.world.url, prepare);
  for (const { transaction } of verdicts) skipped.delete(transaction.id);

  const failed = verdicts.filter(({ objections }) => objections !== '');
  for (const verdict of failed) console.log(describe(verdict));
  for (const [reason, entries] of Map.groupBy(skipped, ([, reason]) => reason))
    console.log(`Left out because ${reason}:\n${list(entries.map(([id]) => id))}\n`);
  console.log(
    `${verdicts.length - failed.length} passed, ${failed.length} failed, ${skipped.size} left out, ` +
      `of the ${declaredResponses.length} answers in openapi.yaml.`,
  );
  return failed.length === 0 && verdicts.length > 0;
}

function describe({ transaction, objections }: Verdict): string {
  const { id, request, fullPath, real } = transaction;
  const lines = [
    ...objections.split('\n'),
    `sent      ${request.method} ${fullPath} ${request.body}`,
    `answered  ${real ? `${real.statusCode} ${real.body}` : 'nothing'}`,
  ];
  return [`FAILED  ${id}`, ...lines.map((line) => `        ${line.slice(0, 500)}`), ''].join('\n');
}

/** Formats ids with one line per operation: `getUser 500, 503`. */
function list(ids: string[]): string {
  const byOperation = Map.groupBy(ids, (id) => id.split(' ', 1)[0]);
  return [...byOperation]
    .map(([operation, of]) => `  ${of.join(', ').replaceAll(`, ${operation}`, ',')}`)
    .join('\n');
}

function printError(error: unknown): void {
  console.error(error instanceof Error ? error.message : error);
}
