import { setImmediate as nextLoopTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Engine, Tasks } from '../../server/database/engine.ts';
import { TaskRunner } from '../../server/database/maintenance/task-runner.ts';
import type { TaskRequest } from '../../server/database/maintenance/thread-messages.ts';

const requestOf = (requestId: number): TaskRequest => ({
  kind: 'run task',
  requestId,
  task: 'eraseSpace',
  target: { pk: requestId, sessionPk: 1 },
});

/** Returns a runner and the request ids of its responses. Its `eraseSpace` calls `work` with the id of the request. */
function createRunner(work: (requestId: number) => void) {
  const responses: number[] = [];
  const tasks: Partial<Tasks> = {
    async eraseSpace(_engine, { pk }) {
      work(pk);
      await nextLoopTurn();
    },
  };
  const runner = new TaskRunner(
    {} as Engine,
    tasks,
    new AbortController().signal,
    ({ requestId }) => responses.push(requestId),
    (message) => new Error(message),
  );
  return { runner, responses };
}

test('drain waits for all tasks, also for those that are enqueued while it waits', async () => {
  const { runner, responses } = createRunner((requestId) => {
    if (requestId < 3) runner.enqueue(requestOf(requestId + 1));
  });
  runner.enqueue(requestOf(1));
  await runner.drain();
  expect(responses).toEqual([1, 2, 3]);
});

test('drain resolves without tasks', async () => {
  const { runner, responses } = createRunner(() => {});
  await runner.drain();
  expect(responses).toEqual([]);
});
