import cluster from 'node:cluster';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { grantRenderingTurns, type RenderingSize } from '../../server/system/cluster-turns.ts';

beforeEach(grantRenderingTurns);
afterEach(() => {
  cluster.removeAllListeners('message');
  cluster.removeAllListeners('exit');
});

let granted: string[];
beforeEach(() => {
  granted = [];
});

function startWorker(name: string, size: RenderingSize = 'ordinary') {
  let isExited = false;
  const worker = {
    isDead: () => isExited,
    send: (message: object) => {
      expect(message).toEqual({ renderingTurn: 'granted', size });
      granted.push(name);
    },
  };
  return {
    request: () => cluster.emit('message', worker, { renderingTurn: 'requested', size }),
    return: () => cluster.emit('message', worker, { renderingTurn: 'returned', size }),
    exit() {
      isExited = true;
      cluster.emit('exit', worker);
    },
  };
}

test('Workers get the turn one at a time, in the order of their requests', () => {
  const [a, b, c] = [startWorker('a'), startWorker('b'), startWorker('c')];
  for (const each of [b, a, c]) each.request();
  expect(granted).toEqual(['b']);
  b.return();
  b.request();
  expect(granted).toEqual(['b', 'a']);
  a.return();
  c.return();
  expect(granted).toEqual(['b', 'a', 'c', 'b']);
});

test('An ordinary image does not wait for a large one', () => {
  const [a, b] = [startWorker('a', 'large'), startWorker('b', 'large')];
  const c = startWorker('c', 'ordinary');
  for (const each of [a, b, c]) each.request();
  expect(granted).toEqual(['a', 'c']);
  c.return();
  a.return();
  expect(granted).toEqual(['a', 'c', 'b']);
});

test('A worker that exits returns its turn, and no longer waits for it', () => {
  const [a, b, c] = [startWorker('a'), startWorker('b'), startWorker('c')];
  for (const each of [a, b, c]) each.request();
  b.exit();
  a.exit();
  expect(granted).toEqual(['a', 'c']);
  // Its message can arrive after its exit.
  a.request();
  c.return();
  expect(granted).toEqual(['a', 'c']);
});
