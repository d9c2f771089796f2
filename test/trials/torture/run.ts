import { availableParallelism } from 'node:os';
import { inspect } from 'node:util';
import { parseArguments } from '../../support/arguments.ts';
import setUpPostgresql from '../../support/postgresql-setup.ts';
import { MissingRequirement, type Trial } from './trial.ts';

const USAGE = `Tries to break the promises of the service, and prints measurements.

  npm run torture [-- NAME…]             run all trials, or the named ones, at full scale (hours)
  npm run torture -- --quick [NAME…]     run the same trials with fewer attempts (minutes)
  npm run torture -- --postgresql …      run the trials on a temporary PostgreSQL server, at either scale

With --postgresql, trials about SQLite's files, and those that do not depend on the database, are skipped.
`;

/** The trials by name. The first one takes longest, so others run beside it. */
const trials: Record<string, () => Promise<Trial>> = {
  schemathesis: async () => (await import('./schemathesis.ts')).schemathesis,
  kill: async () => (await import('./kill.ts')).kill,
  repetitions: async () => (await import('./repetitions.ts')).repetitions,
  power: async () => (await import('./power.ts')).power,
  'power-failures': async () => (await import('./power-failures.ts')).powerFailures,
  damage: async () => (await import('./damage.ts')).damage,
  disk: async () => (await import('./disk.ts')).disk,
  backup: async () => (await import('./backup.ts')).backup,
  upgrade: async () => (await import('./upgrade.ts')).upgrade,
  'long-run': async () => (await import('./long-run.ts')).longRun,
  'slow-clients': async () => (await import('./slow-clients.ts')).slowClients,
  'fair-shares': async () => (await import('./fair-shares.ts')).fairShares,
  overload: async () => (await import('./overload.ts')).overload,
  shutdown: async () => (await import('./shutdown.ts')).shutdown,
  concurrency: async () => (await import('./concurrency.ts')).concurrency,
  'exact-searches': async () => (await import('./search-copy.ts')).exactSearches,
  'exact-lists': async () => (await import('./search-copy.ts')).exactLists,
  'search-kills': async () => (await import('./search-copy.ts')).searchKills,
  'list-following': async () => (await import('./list-following.ts')).listFollowing,
  following: async () => (await import('./following.ts')).following,
  programs: async () => (await import('./programs.ts')).programs,
  conversation: async () => (await import('./conversation.ts')).conversation,
  mail: async () => (await import('./mail.ts')).mail,
  workers: async () => (await import('./workers.ts')).workers,
  names: async () => (await import('./names.ts')).names,
  passwords: async () => (await import('./passwords.ts')).passwords,
  lockout: async () => (await import('./lockout.ts')).lockout,
  erasure: async () => (await import('./erasure.ts')).erasure,
  'login-timing': async () => (await import('./address-timing.ts')).loginTiming,
  'reset-timing': async () => (await import('./address-timing.ts')).resetTiming,
  secrets: async () => (await import('./secrets.ts')).secrets,
  queries: async () => (await import('./queries.ts')).queries,
  avatars: async () => (await import('./avatars.ts')).avatars,
};

const { positionals, values } = parseArguments(USAGE, {
  allowPositionals: true,
  options: {
    quick: { type: 'boolean' },
    postgresql: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
});
const unknown = positionals.filter((name) => !Object.hasOwn(trials, name));
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) console.error(`Unknown trials: ${unknown.join(', ')}.\n`);
  console.log(`${USAGE}\nTrials: ${Object.keys(trials).join(', ')}`);
  process.exit(unknown.length > 0 ? 1 : 0);
}

// The exit handler stops the servers. A signal does not run it without this.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

// The trials are imported later, because `databases.ts` reads the URL of the server that this starts.
const tearDown = values.postgresql ? await setUpPostgresql() : async () => {};

const counts = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];

async function runTrial(name: string, { promise, quickTest, run, ...trial }: Trial): Promise<void> {
  const start = performance.now();
  const report = (result: keyof typeof counts, text: string) => {
    counts[result] += 1;
    console.log(`\n${name} ${text}`);
    if (result === 'failed') failures.push(`${name} ${text}`);
  };
  console.log(`\n${name}: ${promise}`);
  if (values.postgresql && !trial.runsOnPostgresql) {
    const reason = "it is about SQLite's files, or does not depend on the database";
    return report('skipped', `skipped: ${reason}`);
  }
  if (values.quick && quickTest) {
    return report('skipped', `skipped: ${quickTest} makes some of its attempts`);
  }
  const outcome = await run(values.quick ? 'quick' : 'full').then(
    (measurements) => ({ result: 'passed', detail: measurements }) as const,
    (error: unknown) =>
      error instanceof MissingRequirement
        ? ({ result: 'skipped', detail: error.message } as const)
        : // Also shows the problem documents that clients throw.
          ({ result: 'failed', detail: inspect(error) } as const),
  );
  const seconds = Math.round((performance.now() - start) / 1000);
  report(outcome.result, `${outcome.result} in ${seconds} s: ${outcome.detail}`);
}

/** Runs trials in their order, several at the same time. */
async function runTrials(selected: readonly (readonly [string, Trial])[], concurrency: number) {
  const remaining = selected.values();
  const runNext = async () => {
    // The iterator is shared, so each trial runs once.
    for (const [name, trial] of remaining) await runTrial(name, trial);
  };
  await Promise.all(Array.from({ length: concurrency }, runNext));
}

const selected = await Promise.all(
  Object.entries(trials)
    .filter(([name]) => positionals.length === 0 || positionals.includes(name))
    .map(async ([name, load]) => [name, await load()] as const),
);
// At the quick scale, trials wait for timers and for the disk most of the time, so one more than processors.
const concurrency = values.quick ? availableParallelism() + 1 : 1;
await runTrials(
  selected.filter(([, { measuresTime }]) => !measuresTime),
  concurrency,
);
await runTrials(
  selected.filter(([, { measuresTime }]) => measuresTime),
  1,
);
await tearDown();
// Again, because a long output hides them.
for (const failure of failures) console.log(`\n${failure}`);
console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(counts.failed > 0 ? 1 : 0);
