import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Operation, operations } from '../../server/contract.ts';
import { openWorld, type World } from '../contract/world.ts';
import { inputNamesOf, sessionEndingOperations } from '../support/requests.ts';
import { type Server, startServer } from '../support/server.ts';
import { CannotRun, type Scale, type Trial } from './trial.ts';

const run = promisify(execFile);
const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const contract = fileOf('../../openapi.yaml');
const template = fileOf('strangers/schemathesis.toml');
const requirements = fileOf('strangers/requirements.txt');
const cache = fileOf('../../node_modules/.cache/space-service-torture');

const METRICS_TOKEN = 'strangers';

/** Longer than any run takes. */
const RUN_TIMEOUT_MS = 40 * 60_000;

/** A run of Schemathesis, whose documentation explains the phases. */
interface Run {
  name: string;
  phases: string;
  isSignedIn: boolean;
  maxExamples: number;
}

const scales: Record<Scale, { requests: number; runs: Run[] }> = {
  quick: {
    requests: 1_000,
    runs: [
      { name: 'signed out', phases: 'examples,fuzzing', isSignedIn: false, maxExamples: 4 },
      { name: 'signed in', phases: 'examples,coverage', isSignedIn: true, maxExamples: 1 },
      { name: 'in sequence', phases: 'stateful', isSignedIn: true, maxExamples: 10 },
    ],
  },
  full: {
    requests: 100_000,
    runs: [
      {
        name: 'signed out',
        phases: 'examples,coverage,fuzzing',
        isSignedIn: false,
        maxExamples: 150,
      },
      {
        name: 'signed in',
        phases: 'examples,coverage,fuzzing',
        isSignedIn: true,
        maxExamples: 250,
      },
      { name: 'signed in, too', phases: 'fuzzing', isSignedIn: true, maxExamples: 250 },
      { name: 'in sequence', phases: 'stateful', isSignedIn: true, maxExamples: 250 },
    ],
  },
};

export const strangers: Trial = {
  promise: 'No answer to whatever Schemathesis makes of the contract breaks the contract.',
  async run(scale) {
    const schemathesis = await install();
    await using server = await startServer({ METRICS_TOKEN });
    const world = await openWorld(server.url);
    const { requests, runs } = scales[scale];

    const cases = new Map<string, number>();
    let answered = new Map<string, number>();
    const ending = new AbortController();
    const repeat = async (each: Run) => {
      for (let round = 1; round === 1 || sum(answered) < requests; round += 1) {
        const { test_cases } = await hold(schemathesis, server, world, each, round, ending.signal);
        assert(test_cases.generated > 0, `${each.name} tried nothing`);
        cases.set(each.name, (cases.get(each.name) ?? 0) + test_cases.generated);
        answered = await countAnswers(server.url);
      }
    };
    // The first failure aborts the other runs.
    await Promise.all(runs.map((each) => repeat(each).catch((error) => ending.abort(error))));
    ending.signal.throwIfAborted();

    assert.equal(server.child.exitCode, null, server.output());
    const failed = [...answered].filter(([answer]) => / 5\d\d$/.test(answer));
    assert.deepEqual(failed, [], `the server failed:\n${server.output()}`);
    // An operation that always fails would prove little.
    const neverDone = operations
      .map(({ operationId }) => operationId)
      .filter((id) => !answered.has(`${id} 200`) && !answered.has(`${id} 201`));
    if (scale === 'full') assert.deepEqual(neverDone, [], 'every operation is done at least once');

    const done = [...answered].filter(([answer]) => / 2\d\d$/.test(answer));
    const tried = [...cases].map(([name, count]) => `${count} ${name}`).join(', ');
    return `${sum(answered)} requests answered (test cases: ${tried}), ${sum(new Map(done))} of them with success, ${answered.size} kinds of answer by ${operations.length} operations${neverDone.length > 0 ? `, ${neverDone.length} of them never with success` : ''}; 0 undeclared statuses, types, headers or bodies, 0 times 5xx`;
  },
};

interface Report {
  complete: boolean;
  test_cases: { generated: number };
  failures: { title: string; operations: string[] }[];
  errors: { title: string }[];
}

/**
 * Runs Schemathesis against the server.
 * @throws AssertionError with the output of Schemathesis
 */
async function hold(
  schemathesis: string,
  { url }: Server,
  { space, elsewhere, message, creator }: World,
  { name, phases, isSignedIn, maxExamples }: Run,
  round: number,
  signal: AbortSignal,
): Promise<Report> {
  // Schemathesis writes files to its working directory.
  const folder = await mkdtemp(join(tmpdir(), 'space-service-strangers-'));
  try {
    const report = join(folder, 'report.json');
    const values: Record<string, unknown> = {
      ...{ space: space.space_id, elsewhere: elsewhere.space_id },
      ...{ message: message.message_id, user: creator.userId },
      ...{ stricterThanSchema: idsOf(isStricterThanSchema), takingFiles: idsOf(takesFile) },
    };
    const settings = (await readFile(template, 'utf8')).replace(/"\{(\w+)\}"/g, (_, name: string) =>
      JSON.stringify(values[name]),
    );
    await writeFile(join(folder, 'schemathesis.toml'), settings);
    const options = {
      '--url': url,
      '--phases': round === 1 ? phases : phases.replace('examples,coverage,', ''),
      '--max-examples': String(maxExamples),
      '--seed': String(round * 100 + name.length),
      '--report-json-path': report,
    };
    const child = spawn(
      schemathesis,
      ['--no-color', 'run', contract, ...Object.entries(options).flat()],
      {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: RUN_TIMEOUT_MS,
        signal,
        env: {
          ...{
            PATH: process.env.PATH,
            PYTHONPATH: fileOf('strangers'),
            PYTHONDONTWRITEBYTECODE: '1',
          },
          ...{ SCHEMATHESIS_HOOKS: 'hooks', SERVER_URL: url, SIGNED_IN: isSignedIn ? 'yes' : '' },
          SESSION_ENDING_OPERATIONS: sessionEndingOperations.join(' '),
        },
      },
    );
    const printing = Promise.all([text(child.stdout), text(child.stderr)]);
    const [code, killedBy] = await once(child, 'close');
    const printed = (await printing).join('').replace(/^(.{400}).*$/gm, '$1…');
    const told = `${name}, round ${round}: ${killedBy ?? `exit code ${code}`}\n${printed}`;
    assert.equal(code, 0, told);
    const read: Report = JSON.parse(await readFile(report, 'utf8'));
    assert(read.complete, told);
    assert.deepEqual([...read.failures, ...read.errors], [], told);
    return read;
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Whether the operation may reject what its schema accepts: texts and cursors have rules beyond their schemas. */
function isStricterThanSchema(operation: Operation): boolean {
  return operation.bodyType === 'application/json' || inputNamesOf(operation).includes('cursor');
}

function takesFile({ bodyType }: Operation): boolean {
  return bodyType === 'multipart/form-data';
}

function idsOf(matches: (operation: Operation) => boolean): string[] {
  return operations.filter(matches).map(({ operationId }) => operationId);
}

/** Returns how often each operation responded with each status, according to the server's metrics. */
async function countAnswers(url: string): Promise<Map<string, number>> {
  const answer = await fetch(`${url}/metrics`, {
    headers: { authorization: `Bearer ${METRICS_TOKEN}` },
  });
  const lines = (await answer.text()).matchAll(
    /^http_request_duration_seconds_count\{operation="(\w+)",status="(\d+)".*\} (\d+)$/gm,
  );
  return new Map(
    [...lines].map(([, operation, status, count]) => [`${operation} ${status}`, Number(count)]),
  );
}

function sum(counts: Map<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

/** Installs Schemathesis under node_modules unless this version is there. Returns the path of its command. */
async function install(): Promise<string> {
  const wanted = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex');
  const folder = join(cache, `schemathesis-${wanted.slice(0, 12)}`);
  const command = join(folder, 'bin', 'schemathesis');
  const finished = join(folder, 'installed');
  if (existsSync(finished)) return command;
  await rm(folder, { recursive: true, force: true });
  await mkdir(cache, { recursive: true });
  try {
    await run('python3', ['-m', 'venv', folder]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    await run(join(folder, 'bin', 'python'), [...pip, '--requirement', requirements]);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    const { message } = error as Error;
    throw new CannotRun(`Schemathesis could not be installed with python3 and pip: ${message}`);
  }
  // A virtual environment cannot be moved, so this file marks a complete one.
  await writeFile(finished, '');
  return command;
}
