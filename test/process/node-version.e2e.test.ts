import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as mock from '../../mock/node-version.js';
import manifest from '../../package.json' with { type: 'json' };
import {
  explainInsecureVersion,
  explainUnsupportedVersion,
  MIN_NODE_MAJOR,
} from '../../server/process/node-version.js';
import * as contractCheck from '../../verification/node-version.js';
import { EX_CONFIG } from '../support/exit-codes.ts';
import { startProcess } from '../support/processes.ts';
import { startServer } from '../support/server.ts';
import { systemNode } from '../support/system-node.ts';

const preloads = ['./server/process/preload.js', './codegen/preload.js'];

describe('The Node.js version check', () => {
  test.each(['24.0.0', '24.22.1', '25.0.0', '100.0.0'])('accepts %s', (version) => {
    expect(explainUnsupportedVersion(version)).toBeUndefined();
  });

  test.each(['8.17.0', '18.20.8', '22.21.0', '23.11.1'])('refuses %s', (version) => {
    expect(explainUnsupportedVersion(version)).toBe(
      `space-service needs Node.js 24 or newer, and this is v${version}. ` +
        'In the repository, "npm ci" installs it for the npm scripts; "npm ci --omit=dev" does not.',
    );
  });

  test.each(['24.21.0', '24.22.0', '25.9.0', '26.12.0'])('warns of %s', (version) => {
    expect(explainInsecureVersion(version)).toBe(
      `Node.js v${version} lacks security fixes. ` +
        'Run a public service on v24.22.1 or v26.12.1, or a later version of these lines.',
    );
  });

  test.each(['24.22.1', '24.22.10', '24.100.0', '26.12.1', '27.0.0'])(
    'does not warn of %s',
    (version) => {
      expect(explainInsecureVersion(version)).toBeUndefined();
    },
  );

  test.skipIf(!systemNode).each(preloads)(
    'in %s prints one line and exits on an old Node.js',
    async (preload) => {
      const node = systemNode as string;
      const version = (await startProcess(node, ['--version']).result).stdout.trim().slice(1);
      const { code, stderr } = await startProcess(node, ['--import', preload, '-e', '0']).result;
      const refusal = explainUnsupportedVersion(version);
      expect({ code, stderr }).toEqual(
        refusal ? { code: EX_CONFIG, stderr: `${refusal}\n` } : { code: 0, stderr: '' },
      );
    },
  );
});

test('Scripts that run node themselves check its version and the dependencies first', () => {
  const commands = Object.values(manifest.scripts).flatMap((script) => script.split(' && '));
  const programs = commands.filter((each) => each.startsWith('node '));
  expect(programs).not.toEqual([]);
  const checked = programs.filter((each) => preloads.some((file) => each.includes(` ${file} `)));
  expect(checked).toEqual(programs);
});

test.each(preloads)('%s prints one line and exits without dependencies', async (preload) => {
  const folder = await mkdtemp(join(tmpdir(), 'preload-'));
  try {
    for (const file of ['package.json', 'codegen/preload.js', 'server/process']) {
      await cp(file, join(folder, file), { recursive: true });
    }
    const args = ['--import', preload, '-e', '0'];
    const { result } = startProcess(process.execPath, args, {}, '', folder);
    expect(await result).toEqual({
      code: EX_CONFIG,
      stdout: '',
      stderr: 'The dependencies are not installed. Run: npm ci\n',
    });
    expect(await readdir(folder)).not.toContain('node_modules');
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe('The warning of a Node.js without security fixes', () => {
  const warning = explainInsecureVersion(process.versions.node);
  const line = warning ? `${warning}\n` : '';

  test.each(['1', '2'])('appears once when the service starts with %s workers', async (WORKERS) => {
    await using server = await startServer({ WORKERS });
    await expect.poll(server.output).toBe(line);
    expect(await server.stop()).toBe(0);
    expect(server.output()).toBe(line);
  });

  test('does not appear in the output of commands', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'node-version-'));
    try {
      const command = [...manifest.scripts.import.split(' ').slice(1), '-'];
      const { code, stderr } = await startProcess(process.execPath, command, { DATA_DIR: folder })
        .result;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('The required Node.js version', () => {
  test('of the server, the contract check and the mock server matches package.json', () => {
    expect(manifest.engines.node).toBe(`>=${MIN_NODE_MAJOR}`);
    expect(manifest.engines.node).toBe(`>=${contractCheck.MIN_NODE_MAJOR}`);
    expect(manifest.engines.node).toBe(`>=${mock.MIN_NODE_MAJOR}`);
  });
});

test('The Dockerfile and the systemd unit run the same command as npm start', () => {
  const { start } = manifest.scripts;
  const dockerfile = readFileSync('deploy/Dockerfile', 'utf8');
  const command = JSON.parse(dockerfile.slice(dockerfile.lastIndexOf('CMD') + 'CMD'.length));
  expect(command.join(' ')).toBe(start);
  const unit = readFileSync('deploy/space-service.service', 'utf8');
  expect(/^ExecStart=\/usr\/bin\/(.*)$/m.exec(unit)?.[1]).toBe(start);
});
