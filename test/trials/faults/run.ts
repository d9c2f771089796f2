import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { explainCauses } from '../../../verification/checks.ts';
import { scenarios } from '../../../verification/scenarios/index.ts';
import { runScenarios } from '../../../verification/scenarios/run.ts';
import type { Scenario } from '../../../verification/scenarios/scenario.ts';
import { openWorld, type World } from '../../../verification/world.ts';
import { type Fault, plantFaults } from './faults.ts';

// Plants faults into the server, one at a time, and prints whether a scenario of the contract check finds each:
//
//   npm run faults -- [--file PATTERN] [--every N]
//
// with the faults in the modules whose path matches, or every nth of them.

const { values } = parseArgs({
  options: {
    file: { type: 'string', default: '' },
    every: { type: 'string', default: '1' },
  },
});

const MIN_FOUND = 0.95;
/** A scenario that takes longer is stuck. */
const TIMEOUT_MS = 40_000;
/** The number of no fault. */
const NONE = -1;

/** Why no request of a check can show a fault: reasons, each with texts that the names of its faults contain. */
const reasons: Record<string, string[]> = parse(
  readFileSync(new URL('unseen.yaml', import.meta.url), 'utf8'),
);

const nameOf = ({ file, kind, text }: Fault) =>
  `${file.replace('server/', '')}: ${kind}: ${text.slice(0, 80)}`;

function reasonFor(fault: Fault): string | undefined {
  const name = nameOf(fault);
  return Object.keys(reasons).find((each) => reasons[each]?.some((text) => name.includes(text)));
}

/** A server in which faults can be planted. */
class FaultyServer {
  readonly #process: ChildProcess;
  readonly world: World;
  /** The faults in code that runs only while the server starts. */
  readonly reachedAtStart: ReadonlySet<number>;

  private constructor(child: ChildProcess, world: World, reached: number[]) {
    this.#process = child;
    this.world = world;
    this.reachedAtStart = new Set(reached);
  }

  /** Starts a server. Resolves to undefined if it does not start with the fault. */
  static async start(fault = NONE): Promise<FaultyServer | undefined> {
    const program = fileURLToPath(new URL('faulty-server.ts', import.meta.url));
    const child = fork(program, [String(fault)], {
      stdio: ['ignore', 'ignore', fault === NONE ? 'inherit' : 'ignore', 'ipc'],
    });
    const exit = once(child, 'exit').then(() => undefined);
    // A fault can cause an endless loop, or make the server ask for many repetitions.
    const timeout = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
    try {
      const message = await Promise.race([once(child, 'message'), exit]);
      if (!message) return undefined;
      const { url, reached } = message[0] as { url: string; reached: number[] };
      return new FaultyServer(child, await openWorld(url), reached);
    } catch {
      child.kill('SIGKILL');
      return undefined;
    } finally {
      clearTimeout(timeout);
    }
  }

  /** Plants the fault instead of another one. Resolves to the faults that the server has reached before. */
  async plant(number: number): Promise<number[]> {
    if (!this.#process.connected) return [];
    this.#process.send({ plant: number });
    const [{ reached }] = await once(this.#process, 'message');
    return reached;
  }

  stop(): void {
    this.#process.kill('SIGKILL');
  }
}

/** Resolves to the first failure among the scenarios, or undefined if all pass. */
async function firstFailure(
  world: World,
  selected: readonly Scenario[],
): Promise<{ scenario: Scenario; text: string } | undefined> {
  const stop = new AbortController();
  const timeout = setTimeout(() => stop.abort(), TIMEOUT_MS);
  let failure: { scenario: Scenario; text: string } | undefined;
  await runScenarios(world, selected, stop.signal, ({ name, causes }, scenario) => {
    if (causes.length === 0 || failure) return;
    failure = { scenario, text: `${name} (${explainCauses(causes)})`.replaceAll(/\s+/g, ' ') };
    stop.abort();
  });
  clearTimeout(timeout);
  return failure;
}

async function startServer(): Promise<FaultyServer> {
  const server = await FaultyServer.start();
  if (!server) throw new Error('The server does not start without a fault.');
  return server;
}

let server = await startServer();
const { faults } = plantFaults();

/** The scenarios that reach each fault. */
const reaching = new Map<number, Scenario[]>();
/** How many faults each scenario reaches. */
const breadth = new Map<Scenario, number>();
await server.plant(NONE);
for (const scenario of scenarios) {
  const failure = await firstFailure(server.world, [scenario]);
  if (failure) throw new Error(`Fails without a fault: ${failure.text}`);
  const reached = await server.plant(NONE);
  breadth.set(scenario, reached.length);
  for (const number of reached) reaching.set(number, [...(reaching.get(number) ?? []), scenario]);
}

/** Returns how the check finds a fault, or undefined. */
async function find(fault: Fault): Promise<string | undefined> {
  const selected = reaching.get(fault.number);
  if (!selected || server.reachedAtStart.has(fault.number)) {
    // Planted before the start, because the code does not run again.
    const other = await FaultyServer.start(fault.number);
    if (!other) return 'the server does not start, or cannot create test data';
    const failure = await firstFailure(other.world, scenarios);
    other.stop();
    return failure?.text;
  }
  // The most specific first.
  selected.sort((a, b) => (breadth.get(a) ?? 0) - (breadth.get(b) ?? 0));
  await server.plant(fault.number);
  const failure = await firstFailure(server.world, selected);
  await server.plant(NONE);
  if (!failure) return undefined;
  // The data that the fault has left must not let other scenarios fail.
  if (await firstFailure(server.world, [failure.scenario])) {
    server.stop();
    server = await startServer();
  }
  return failure.text;
}

/** Code that runs only for operators and imports, after exceeded quotas, or in maintenance has no faults to find. */
const isReached = ({ number }: Fault) => reaching.has(number) || server.reachedAtStart.has(number);
const selected = faults
  .filter(isReached)
  .filter(({ file }) => new RegExp(values.file).test(file))
  .filter((_, i) => i % Number(values.every) === 0);
console.log(
  `${faults.length} faults, ${faults.filter(isReached).length} of them in code that the scenarios reach, ${selected.length} selected`,
);
const counts = { found: 0, unseen: 0, missed: 0 };
for (const fault of selected) {
  const place = `${fault.file}:${fault.line} ${fault.kind}`;
  const found = await find(fault);
  const reason = found === undefined ? reasonFor(fault) : undefined;
  if (found !== undefined) {
    counts.found += 1;
    console.log(`found   ${place} — ${found.slice(0, 160)}`);
  } else if (reason !== undefined) {
    counts.unseen += 1;
    console.log(`unseen  ${place} — ${reason}`);
  } else {
    counts.missed += 1;
    console.log(`MISSED  ${place} (${nameOf(fault)})`);
  }
}
server.stop();

const { found, missed } = counts;
const share = found / (found + missed);
console.log(
  `Found ${found} of ${found + missed} faults (${(100 * share).toFixed(1)} %), besides ${counts.unseen} that no request can show.`,
);
process.exit(share >= MIN_FOUND ? 0 : 1);
