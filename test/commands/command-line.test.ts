import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { overview } from '../../server/command-line/help.ts';
import { type CommandName, commands, entryOf } from '../../server/commands/index.ts';
import { runCommand } from '../support/commands.ts';

const names = Object.keys(commands) as CommandName[];

describe('The program space-service', () => {
  test.each(names)('runs the same command line as npm run %s', (name) => {
    const { nodeFlags = [] } = entryOf(name);
    const line = [
      'node',
      ...nodeFlags,
      '--import',
      './server/process/preload.js',
      'server/main.ts',
      name,
    ];
    expect(manifest.scripts[name]).toBe(line.join(' '));
  });

  test('lists its commands in lines of at most 100 characters', () => {
    const rows = overview(commands).split('\n');
    for (const name of names) {
      expect(rows).toContainEqual(
        expect.stringMatching(new RegExp(`^  ${name} +${entryOf(name).summary}$`)),
      );
    }
    expect(rows.filter((row) => row.length > 100)).toEqual([]);
  });
});

describe('--help', () => {
  test.each(names)('of npm run %s explains the command and does nothing else', async (name) => {
    const DATA_DIR = join(tmpdir(), `no-data-${process.pid}`);
    const { code, stdout, stderr } = await runCommand(name, ['--help'], { DATA_DIR });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: npm run ${name}( -- \\S+( \\S+)*)?\\n\\n`));
    expect(stdout).toContain(entryOf(name).summary);
    expect(existsSync(DATA_DIR)).toBe(false);
    expect(existsSync('--help')).toBe(false);
  });

  test('of npm start lists the settings', async () => {
    const { stdout } = await runCommand('start', ['--help'], {});
    expect(stdout).toContain(
      '\n# Folder of the SQLite database, or with DATABASE_URL of a copy of the search index, and of the avatars.\nDATA_DIR=./data\n',
    );
  });

  test('of npm run import explains its flag', async () => {
    const { stdout } = await runCommand('import', ['--help'], {});
    expect(stdout).toContain('Usage: npm run import -- FILE.ndjson [--skip-bad] [--only-new]\n');
    expect(stdout).toContain('  --skip-bad  Imports valid lines and lists the others.\n');
  });
});

describe('Wrong arguments', () => {
  const wrong: [CommandName, string[], string][] = [
    ['start', ['now'], 'Unexpected argument now.'],
    ['start', ['--port=1'], 'Unknown option --port=1.'],
    ['demo', ['now'], 'Unexpected argument now.'],
    ['compact', ['now'], 'Unexpected argument now.'],
    ['export', ['--force'], 'Unknown option --force.'],
    ['export', ['-f'], 'Unknown option -f.'],
    ['export', [''], 'FILE.ndjson is empty.'],
    ['export', ['a', 'b'], 'Unexpected argument b.'],
    ['import', ['spaces.ndjson', '--skipBad'], 'Unknown option --skipBad.'],
    ['import', [], 'FILE.ndjson is missing.'],
    ['backup', [], 'FILE is missing.'],
    ['backup', [''], 'FILE is empty.'],
    ['backup', ['a', 'b\u001b'], 'Unexpected argument b\\u{1b}.'],
    ['set-password', ['a', 'b'], 'Unexpected argument b.'],
    ['set-email', ['a'], 'NEW_ADDRESS is missing.'],
    ['suspend-account', [], 'ADDRESS or USER_ID is missing.'],
    ['verify-account', ['--all'], 'Unknown option --all.'],
    ['reports', ['--close'], 'REPORT_ID is missing.'],
    ['reports', ['id'], 'To close reports, add --close.'],
    ['reports', ['--about'], '--about needs one id, of a space or of a user.'],
    ['reports', ['--about', 'id', 'id2'], '--about needs one id, of a space or of a user.'],
    ['reports', ['--about', '--close', 'id'], '--close and --about exclude each other.'],
    ['reports', ['--open'], 'Unknown option --open.'],
  ];
  test.each(wrong)(
    'of %s are rejected with the reason and the usage: %j',
    async (name, args, reason) => {
      const folder = await mkdtemp(join(tmpdir(), 'arguments-'));
      const DATA_DIR = join(folder, 'data');
      const { code, stdout, stderr } = await runCommand(name, args, { DATA_DIR });
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      const [firstLine, usage, ...hints] = stderr.trimEnd().split('\n');
      expect(firstLine).toBe(reason);
      expect(usage).toMatch(new RegExp(`^Usage: npm run ${name}( .*)?$`));
      const hint = `It takes no arguments. Settings are environment variables: PORT=8080 npm run ${name}`;
      expect(hints).toEqual(['start', 'demo'].includes(name) ? [hint] : []);
      expect(existsSync(DATA_DIR)).toBe(false);
      await rm(folder, { recursive: true });
    },
  );
});
