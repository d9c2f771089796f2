import { startProcess } from './processes.ts';

/** Runs Vitest in its own process. */
export async function runVitest(config: string, ...args: string[]) {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '-c', config, ...args];
  await using running = startProcess(process.execPath, vitest, { NO_COLOR: '1' });
  const { code } = await running.result;
  return { code, output: running.output() };
}
