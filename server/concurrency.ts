/** Runs a task when its turn comes, in the order of asking, and answers with what the task does. */
export interface Limiter {
  <T>(task: () => Promise<T>): Promise<T>;
  /** How many tasks have not begun yet. */
  waiting(): number;
}

/** Makes a limiter that lets `limit` tasks run at a time and has the others wait, however many they are. */
export function limitConcurrency(limit: number): Limiter {
  const queue: (() => void)[] = [];
  let running = 0;

  async function run<T>(task: () => Promise<T>): Promise<T> {
    if (running < limit) running += 1;
    else await new Promise<void>((begin) => queue.push(begin));
    try {
      return await task();
    } finally {
      // The place passes to the next in line, so that no newcomer can take it in between.
      const begin = queue.shift();
      if (begin) begin();
      else running -= 1;
    }
  }

  return Object.assign(run, { waiting: () => queue.length });
}
