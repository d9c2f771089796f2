import { exec } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { freePort } from '../support/ports.ts';
import { startProcess, whileRunning } from '../support/processes.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Returns the instructions of the Dockerfile, such as `['COPY', 'server server']`. */
function readInstructions(): [instruction: string, value: string][] {
  const lines = readFileSync('deploy/Dockerfile', 'utf8').split('\n');
  return lines
    .filter((line) => /^[A-Z]/.test(line))
    .map((line) => {
      const [instruction = '', ...value] = line.split(' ');
      return [instruction, value.join(' ')];
    });
}

/** Executes the instructions in a folder, except those that need a container. */
async function buildImage(folder: string): Promise<{ command: string[]; env: object }> {
  const env: Record<string, string> = {};
  let command: string[] = [];
  for (const [instruction, value] of readInstructions()) {
    if (instruction === 'ENV') {
      for (const [, name = '', text = ''] of value.matchAll(/(\w+)=(\S+)/g)) env[name] = text;
    }
    if (instruction === 'COPY') {
      const sources = value.split(' ');
      const target = sources.pop() as string;
      for (const source of sources) {
        const isFolder = target.endsWith('/');
        cpSync(source, join(folder, target, isFolder ? basename(source) : ''), { recursive: true });
      }
    }
    if (instruction === 'RUN' && value.startsWith('npm ci ')) {
      const [install = ''] = value.split(' && ');
      await promisify(exec)(install, {
        cwd: folder,
        env: { ...process.env, NODE_ENV: env.NODE_ENV },
      });
    }
    if (instruction === 'CMD') command = JSON.parse(value);
  }
  return { command, env };
}

test('The image has everything that the server needs', async () => {
  const root = await mkdtemp(join(tmpdir(), 'image-'));
  try {
    const folder = join(root, 'app');
    mkdirSync(folder);
    const { command, env } = await buildImage(folder);
    const [program, ...args] = command as [string, ...string[]];
    const PORT = String(await freePort());
    const url = `http://127.0.0.1:${PORT}`;
    const data = join(root, 'data');
    const settings = { ...env, HOST: '127.0.0.1', PORT, DATA_DIR: data, SQLITE_TMPDIR: root };
    await using server = startProcess(program, args, settings, '', folder);
    const isReady = () =>
      fetch(`${url}/readyz`)
        .then(({ ok }) => ok)
        .catch(() => false);
    await whileRunning(server, waitUntil('The server is ready.', isReady));
    const search = await fetch(`${url}/api/spaces/search?q=bread`);
    expect([search.status, await search.json()]).toEqual([200, []]);
  } finally {
    await rm(root, { recursive: true });
  }
});
