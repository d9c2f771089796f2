import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startProcess } from './processes.ts';
import { runVitest } from './run-vitest.ts';

const helpers = resolve('test/support');

/** Code that starts a process and its child, which write to a file until they are killed. */
const start = `
  const write = (name) => 'while :; do echo ' + name + ' >> "$FILE"; sleep 0.02; done';
  const script = '(' + write('child') + ') & ' + write('parent');
  const running = startProcess('sh', ['-c', script], { FILE });
  while (!/child[^]*parent|parent[^]*child/.test(readFileSync(FILE, 'utf8'))) await sleep(20);`;

/** Code that starts a process, which exits. Its child writes to the file until it is killed. */
const startChild = `
  const script = '(while :; do echo child >> "$FILE"; sleep 0.02; done) &';
  await startProcess('sh', ['-c', script], { FILE }).exited;
  while (!/child/.test(readFileSync(FILE, 'utf8'))) await sleep(20);`;

const testFiles = {
  'a test fails': `test('fails', async () => { ${start} throw new Error('failed'); });`,
  'a test fails after a process has exited without its child': `test('fails', async () => { ${startChild} throw new Error('failed'); });`,
  'a test times out': `test('hangs', async () => { ${start} await running.result; }, 3_000);`,
  'a hook fails': `beforeAll(async () => { ${start} throw new Error('failed'); }); test('runs', () => {});`,
  'the test run exits early': `test('exits', async () => { ${start} process.exit(1); });`,
};

test.each(Object.entries(testFiles))('kills processes when %s', async (_, body) => {
  const folder = await mkdtemp(join(tmpdir(), 'processes-'));
  try {
    const file = join(folder, 'written');
    await writeFile(file, '');
    const imports = `
      import { readFileSync } from 'node:fs';
      import { setTimeout as sleep } from 'node:timers/promises';
      import { startProcess } from ${JSON.stringify(join(helpers, 'processes.ts'))};
      const FILE = ${JSON.stringify(file)};`;
    await writeFile(join(folder, 'failing.test.mjs'), imports + body);
    const settings = {
      include: ['*.test.mjs'],
      globals: true,
      setupFiles: [join(helpers, 'setup.ts')],
    };
    const config = `export default ${JSON.stringify({ root: folder, test: settings })}`;
    await writeFile(join(folder, 'vitest.config.mjs'), config);

    const { code, output } = await runVitest(join(folder, 'vitest.config.mjs'));
    expect(code, output).toBe(1);
    const written = await readFile(file, 'utf8');
    expect(written).toMatch(/child/);
    await sleep(200);
    expect(await readFile(file, 'utf8')).toBe(written);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('kills the children of a process that has exited', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'processes-'));
  try {
    const FILE = join(folder, 'written');
    await writeFile(FILE, '');
    const child = 'while :; do echo child >> "$FILE"; sleep 0.02; done';
    const running = startProcess('sh', ['-c', `(${child}) &`], { FILE });
    await running.exited;
    await expect.poll(() => readFile(FILE, 'utf8')).toMatch(/child/);

    await running.kill();
    await sleep(50);
    const written = await readFile(FILE, 'utf8');
    await sleep(200);
    expect(await readFile(FILE, 'utf8')).toBe(written);
  } finally {
    await rm(folder, { recursive: true });
  }
});
