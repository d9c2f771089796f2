import { randomInt } from 'node:crypto';
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArguments } from '../../support/arguments.ts';
import { avatarFile } from '../../support/avatar.ts';
import { startMailServer } from '../../support/mail-server.ts';
import type { Server } from '../../support/server.ts';
import { ADDED_VALUE, type ExtendingProxy, startExtendingProxy } from './extending-proxy.ts';
import { cacheFolder, findProblemWith, type Generator, openWorkspace } from './generator.ts';
import { generators, shortSet } from './generators.ts';
import { startSeededServer } from './server.ts';

const USAGE = `Generates clients from openapi.yaml, compiles them and uses each of them in a program, the journey.

  npm run clients                     ${shortSet.join(', ')}
  npm run clients -- --all            all generators
  npm run clients -- NAME…            the named generators

Each journey runs twice: against the server, and against a server that adds unknown fields and values
to its responses.
The exit code is 1 if a client does not compile or a journey fails. Generators whose toolchain is missing are skipped.

Generators: ${Object.keys(generators).join(', ')}
`;

const { positionals, values } = parseArguments(USAGE, {
  allowPositionals: true,
  options: { all: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(generators, name));
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) console.error(`Unknown generators: ${unknown.join(', ')}.\n`);
  console.log(USAGE);
  process.exit(unknown.length > 0 ? 1 : 0);
}

// The exit handler stops the server. A signal does not run it without this. Not with `once`, because Ctrl+C causes two
// signals: one from the terminal and one from npm.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

const counts = { passed: 0, failed: 0, skipped: 0 };
await mkdir(cacheFolder, { recursive: true });
const avatar = join(cacheFolder, 'avatar.png');
await writeFile(avatar, (await avatarFile()).stream());
await using mailServer = await startMailServer();
// Its own folder, because several runs can go on at the same time.
await using folder = await mkdtempDisposable(join(tmpdir(), 'space-service-clients-'));
await using server = await startSeededServer(folder.path, mailServer.settings);
await using proxy = await startExtendingProxy(server.url);

for (const [name, generator] of Object.entries(generators)) {
  const isChosen = positionals.length > 0 ? positionals.includes(name) : shortSet.includes(name);
  if (!isChosen && !values.all) continue;
  const problems = await Promise.all(generator.toolchains.map(findProblemWith));
  const problem = problems.find((each) => each !== undefined);
  if (problem !== undefined) {
    counts.skipped += 1;
    console.log(`${name} ${generator.version}: skipped, because ${problem}`);
    continue;
  }
  const outcome = await check(generator, server, proxy);
  counts[outcome.failure === undefined ? 'passed' : 'failed'] += 1;
  console.log(`${name} ${generator.version}: ${outcome.steps.join(', ')}`);
  if (outcome.failure !== undefined) console.log(outcome.failure.replaceAll(/^/gm, '    '));
}
console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
if (counts.failed > 0) process.exitCode = 1;

interface Outcome {
  /** What was done, with the result. */
  steps: string[];
  /** The output of the failed step, which is the last one. */
  failure?: string;
}

async function check(
  generator: Generator,
  server: Server,
  proxy: ExtendingProxy,
): Promise<Outcome> {
  const workspace = await openWorkspace(generator);
  const runJourney = (url: string, [VISIBILITY, TOKEN_TYPE]: readonly [string, string]) =>
    workspace.run(generator.journey, {
      SERVER_URL: url,
      RUN: newWord(),
      AVATAR_FILE: avatar,
      VISIBILITY,
      TOKEN_TYPE,
    });
  const steps: [string, () => Promise<unknown>][] = [
    ['install', () => generator.install(workspace)],
    ['generate', () => workspace.run(generator.command)],
    ['compile', () => generator.compile(workspace)],
    ['journey', () => runJourney(server.url, ['public', 'Bearer'])],
    [
      'journey with unknown fields and values',
      async () => {
        proxy.extended.clear();
        await runJourney(proxy.url, [ADDED_VALUE, ADDED_VALUE]);
        for (const type of ['application/json', 'application/problem+json']) {
          if (!proxy.extended.has(type)) throw new Error(`The journey received no ${type}.`);
        }
      },
    ],
  ];
  const outcome: Outcome = { steps: [] };
  for (const [step, run] of steps) {
    const startedAt = performance.now();
    try {
      await run();
    } catch (error) {
      outcome.steps.push(`${step} FAILED`);
      outcome.failure = (error as Error).message;
      return outcome;
    }
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    outcome.steps.push(`${step} passed in ${seconds} s`);
  }
  return outcome;
}

/** Returns a word for the names of one run. It has only letters that do not look alike, as usernames must not. */
function newWord(): string {
  const syllable = () => pick('bdfgkpstz') + pick('aeou');
  return Array.from({ length: 5 }, syllable).join('');
}

function pick(letters: string): string {
  return letters[randomInt(letters.length)] as string;
}
