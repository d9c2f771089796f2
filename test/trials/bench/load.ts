import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cpuSeconds } from '../../support/process-usage.ts';

/** Requests to send to a server. */
export interface Load {
  url: string;
  /** A list of paths for each connection. */
  paths: string[][];
  /** Whether a connection may repeat its list. The server can return cached responses then. */
  mayRepeat?: boolean;
  /** Headers for each connection, or one set for all. */
  headers?: Record<string, string>[];
  /** Sent as JSON with POST, one for each connection. Without it, the requests are GET. */
  bodies?: object[];
  /** Seconds before counting starts. */
  warmUp: number;
  /** Seconds of counting. */
  duration: number;
}

export interface LoadResult {
  /** Requests that the server shed with 503. Throughput and latencies exclude them. */
  shed: number;
  requestsPerSecond: number;
  /** Milliseconds from a request to its complete response, ascending. */
  latencies: Float64Array;
  /** Processors that the load generator used: 1 means one whole processor. */
  generatorLoad: number;
}

export interface LoadGenerator extends AsyncDisposable {
  /** @throws Error if a request fails, or if a list is too short and `mayRepeat` is not set */
  send(load: Load): Promise<LoadResult>;
}

/** More than the server responds to in a second, on one connection and on several. */
const MAX_REQUESTS_PER_SECOND = { one: 8_000, several: 20_000 };

/** Returns a number of paths that is sufficient for a load whose paths must not be repeated. */
export function countPaths(
  { warmUp, duration }: Pick<Load, 'warmUp' | 'duration'>,
  connections: number,
): number {
  const perSecond = MAX_REQUESTS_PER_SECOND[connections === 1 ? 'one' : 'several'];
  // With a margin, because the load generator stops only at its next sample.
  return Math.ceil(perSecond * (warmUp + duration + 0.2));
}

/** Starts the load generator in its own process. */
export async function startLoadGenerator(): Promise<LoadGenerator> {
  const child = fork(fileURLToPath(new URL('load-process.ts', import.meta.url)), {
    serialization: 'advanced',
  });
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`The load generator has exited with ${code ?? signal}.`);
  });
  // Awaited while a load is sent. It also rejects when the process is stopped as intended.
  ended.catch(() => {});
  await Promise.race([once(child, 'message'), ended]);
  return {
    async send(load) {
      const [cpuBefore, before] = [cpuSeconds(child.pid as number), performance.now()];
      child.send(load);
      const [result] = (await Promise.race([once(child, 'message'), ended])) as [
        { error: string } | Omit<LoadResult, 'generatorLoad'>,
      ];
      if ('error' in result) throw new Error(result.error);
      if (result.shed > 0) console.warn(`  ${load.url} shed ${result.shed} requests`);
      const seconds = (performance.now() - before) / 1000;
      const generatorLoad = (cpuSeconds(child.pid as number) - cpuBefore) / seconds;
      return { ...result, generatorLoad };
    },
    async [Symbol.asyncDispose]() {
      // It may have exited because of an error.
      if (!child.connected) return;
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/** Distributes the items to a number of lists in turn. */
export function distribute<T>(items: Iterable<T>, lists: number): T[][] {
  const dealt: T[][] = Array.from({ length: lists }, () => []);
  let i = 0;
  for (const item of items) {
    dealt[i % lists]?.push(item);
    i += 1;
  }
  return dealt;
}
