import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { declaredResponses } from './declared-responses.ts';
import { type Result, runDredd } from './dredd.ts';
import { prepareWith } from './preparation.ts';
import { prepareServer, startServers } from './servers.ts';
import type { Credentials } from './world.ts';

const USAGE = `Checks with Dredd that a server matches openapi.yaml: every operation, every status.

  npm run contract              starts servers with temporary data and checks them
  npm run contract -- <url> [--email <address> --password <password>]
                                checks a running server

The check registers temporary accounts (contract-…@example.com). At the end, it deletes them with everything they
created. With an email address and a password, it sends most requests as that account. At the end, it restores the
account's username and bio, but not its avatar, so use a test account.

Other users of a running server may see a few public spaces during the check. To reach rate limits, the temporary
accounts send up to 200 requests per limit.

The check lists the responses that it cannot provoke, with the reason. The exit code is 1 if any other response differs
from the contract.
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
  await using cleanup = new AsyncDisposableStack();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, async () => {
      await cleanup.disposeAsync().catch(printError);
      process.exit(1);
    });
  }
  const servers = await (url === undefined
    ? startServers(cleanup)
    : prepareServer(url, cleanup, credentials));

  const skipped = new Map<string, string>();
  for (const { id } of declaredResponses)
    skipped.set(id, 'Dredd sends a request only for the first of several examples');
  const prepare = prepareWith(servers, ({ id }, reason) => skipped.set(id, reason));
  const contract = fileURLToPath(new URL('../../openapi.yaml', import.meta.url));
  const results = await runDredd(contract, servers.world.url, prepare);
  for (const { transaction } of results) skipped.delete(transaction.id);

  const failed = results.filter(({ errors }) => errors !== '');
  for (const result of failed) console.log(describe(result));
  for (const [reason, entries] of Map.groupBy(skipped, ([, reason]) => reason))
    console.log(`Skipped because ${reason}:\n${formatIds(entries.map(([id]) => id))}\n`);
  console.log(
    `${results.length - failed.length} passed, ${failed.length} failed, ${skipped.size} skipped, ` +
      `of the ${declaredResponses.length} responses in openapi.yaml.`,
  );
  return failed.length === 0 && results.length > 0;
}

function describe({ transaction, errors }: Result): string {
  const { id, request, fullPath, real } = transaction;
  const lines = [
    ...errors.split('\n'),
    `request   ${request.method} ${fullPath} ${request.body}`,
    `response  ${real ? `${real.statusCode} ${real.body}` : 'none'}`,
    ...(real?.body === '[]'
      ? ['hint      nothing in openWorld (test/contract/world.ts) matches this request']
      : []),
  ];
  return [`FAILED  ${id}`, ...lines.map((line) => `        ${line.slice(0, 500)}`), ''].join('\n');
}

/** Formats ids with one line per operation: `getUser 500, 503`. */
function formatIds(ids: string[]): string {
  const byOperation = Map.groupBy(ids, (id) => id.split(' ', 1)[0]);
  return [...byOperation]
    .map(([operation, group]) => `  ${group.join(', ').replaceAll(`, ${operation}`, ',')}`)
    .join('\n');
}

function printError(error: unknown): void {
  console.error(error instanceof Error ? error.message : error);
}
