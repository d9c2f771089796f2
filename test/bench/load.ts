import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cpuSeconds } from './processes.ts';

/** What is sent to a server, and for how long. */
export interface Load {
  url: string;
  /** Paths, one after the other; from the first again after the last. Each connection has its own list. */
  paths: string[][];
  headers?: Record<string, string>;
  /** Of sending before anything is counted, in seconds. */
  warmUp: number;
  /** Of what is counted, in seconds. */
  duration: number;
}

export interface LoadResult {
  /** Requests that the server turned away with 503, since it could not keep up. All else is of the others. */
  shed: number;
  requestsPerSecond: number;
  /** From a request to its whole answer, in milliseconds, rising. */
  latencies: Float64Array;
  /** Whether some connection came to the end of its list and began again. */
  hasRepeated: boolean;
  /** How many processors the generator used. */
  generatorLoad: number;
}

export interface LoadGenerator extends AsyncDisposable {
  send(load: Load): Promise<LoadResult>;
}

/** Starts the load generator, in a process of its own. */
export async function startLoadGenerator(): Promise<LoadGenerator> {
  const child = fork(fileURLToPath(new URL('load-process.ts', import.meta.url)), {
    serialization: 'advanced',
  });
  await once(child, 'message');
  return {
    async send(load) {
      const [cpuBefore, before] = [cpuSeconds(child.pid as number), performance.now()];
      child.send(load);
      const [answer] = (await once(child, 'message')) as [
        { error: string } | Omit<LoadResult, 'generatorLoad'>,
      ];
      if ('error' in answer) throw new Error(answer.error);
      if (answer.shed > 0) console.warn(`  ${load.url} turned ${answer.shed} requests away`);
      const seconds = (performance.now() - before) / 1000;
      const generatorLoad = (cpuSeconds(child.pid as number) - cpuBefore) / seconds;
      return { ...answer, generatorLoad };
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/** Deals the items out to so many lists. */
export function deal<T>(items: Iterable<T>, lists: number): T[][] {
  const dealt: T[][] = Array.from({ length: lists }, () => []);
  let i = 0;
  for (const item of items) {
    dealt[i % lists]?.push(item);
    i += 1;
  }
  return dealt;
}
