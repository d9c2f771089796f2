import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import Dredd from 'dredd';
import { pino } from 'pino';
import { buildApp } from '../../server/app.ts';
import { readConfig } from '../../server/config.ts';
import { openContext } from '../../server/context.ts';
import { gatherActors } from './actors.ts';
import { provoke, reasonToLeaveOut, type Transaction } from './transactions.ts';

const USAGE = `Usage: npm run contract [-- URL [--email ADDRESS --password PASSWORD]]

Without a URL, checks this version's own server, on a temporary folder. With one, checks the server that runs there:
it registers throw-away accounts (named contract-…) and deletes them afterwards. With --email and --password, that
account sends the requests that need nobody new; its username, bio and picture are changed, so give it a test account.`;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { email: { type: 'string' }, password: { type: 'string' }, help: { type: 'boolean' } },
});
if (
  values.help ||
  positionals.length > 1 ||
  (values.email === undefined) !== (values.password === undefined)
) {
  console.error(USAGE);
  process.exit(1);
}
const [foreign] = positionals;
const credentials =
  values.email !== undefined && values.password !== undefined
    ? { email: values.email, password: values.password }
    : undefined;

await using servers = new AsyncDisposableStack();
const server = foreign?.replace(/\/+$/, '') ?? (await startServer({ RATE_LIMITS: 'off' }));
const limited = foreign === undefined ? await startServer({ PUBLIC_RATE_LIMIT: '5' }) : undefined;
const actors = await gatherActors(server, limited, credentials);
const leftOut = new Map<string, string[]>();

/** What hooks.cjs calls. */
Object.assign(globalThis, {
  contractRun: {
    async before(transaction: Transaction) {
      const { statusCode } = transaction.expected;
      const reason = reasonToLeaveOut(statusCode, foreign !== undefined);
      if (reason === undefined) return provoke(transaction, actors);
      transaction.skip = true;
      const what = `${transaction.request.method} ${transaction.origin.resourceName}`;
      leftOut.set(`${statusCode}: ${reason}`, [
        ...(leftOut.get(`${statusCode}: ${reason}`) ?? []),
        what,
      ]);
    },
    after({ real, expected, origin }: Transaction) {
      if (
        origin.resourceName === '/api/auth/register' &&
        expected.statusCode === '201' &&
        real?.body
      ) {
        actors.adopt(JSON.parse(real.body).access_token);
      }
    },
  },
});

const dredd = new Dredd({
  endpoint: server,
  path: ['openapi.yaml'],
  hookfiles: ['test/contract/hooks.cjs'],
  reporter: ['dot'],
  loglevel: 'error',
  color: process.stdout.isTTY ?? false,
});
const stats = await promisify(dredd.run.bind(dredd))();
await actors.leave();

for (const [reason, operations] of leftOut) {
  console.log(`\nLeft out, ${reason}:\n  ${operations.join('\n  ')}`);
}
console.log(
  `\n${stats.tests} transactions: ${stats.passes} passed, ${stats.failures + stats.errors} failed, ${stats.skipped} left out (above).`,
);
process.exitCode = stats.failures + stats.errors > 0 || stats.passes === 0 ? 1 : 0;

async function startServer(settings: Record<string, string>): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'space-service-contract-'));
  servers.defer(() => rm(dataDir, { recursive: true }));
  const config = readConfig({ ...settings, DATA_DIR: dataDir, PORT: '0' });
  const context = servers.use(await openContext(config, pino({ level: 'warn' })));
  const app = await buildApp(context);
  servers.defer(() => app.close());
  return app.listen({ host: config.host, port: 0 });
}
