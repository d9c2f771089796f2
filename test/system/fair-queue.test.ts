import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FairQueue } from '../../server/system/fair-queue.ts';
import type { Sender } from '../../server/system/senders.ts';

let requests = 0;

function sender(network: string, account = network): Sender {
  requests += 1;
  return { network, account, request: requests };
}

/** Takes all items. Each uses as much as its cost. */
function takeAll(queue: FairQueue<{ from: Sender; name: string; cost?: number }>): string[] {
  const names: string[] = [];
  for (let next = queue.next(); next; next = queue.next()) {
    names.push(next.name);
    queue.charge(next.from, next.cost ?? 1);
  }
  return names;
}

function queueOf(items: [network: string, account: string, cost?: number][]) {
  const queue = new FairQueue<{ from: Sender; name: string; cost?: number }>();
  for (const [network, account, cost = 1] of items) {
    const from = sender(network, account);
    queue.add(from, { from, name: account, cost });
  }
  return queue;
}

describe('A fair queue', () => {
  test('lets networks take turns, however many items one has', () => {
    const queue = queueOf([...Array(4).fill(['a', 'ann']), ['b', 'bob'], ['c', 'cat']]);
    expect(takeAll(queue)).toEqual(['ann', 'bob', 'cat', 'ann', 'ann', 'ann']);
  });

  test('lets accounts of a network take turns, but gives the network no more', () => {
    const queue = queueOf([
      ['a', 'ann'],
      ['a', 'ann'],
      ['a', 'art'],
      ['b', 'bob'],
      ['b', 'bob'],
      ['b', 'bob'],
    ]);
    expect(takeAll(queue)).toEqual(['ann', 'bob', 'art', 'bob', 'ann', 'bob']);
  });

  test('gives a network with expensive items fewer turns', () => {
    const queue = queueOf([...Array(2).fill(['a', 'ann', 3]), ...Array(4).fill(['b', 'bob', 1])]);
    expect(takeAll(queue)).toEqual(['ann', 'bob', 'bob', 'bob', 'ann', 'bob']);
  });

  test('gives those who come later no more than others', () => {
    const queue = queueOf(Array(6).fill(['a', 'ann']));
    for (let i = 0; i < 3; i += 1) queue.charge(sender('a', 'ann'), i);
    queue.next();
    const late = [sender('b', 'bob'), sender('b', 'bob')] as const;
    for (const from of late) queue.add(from, { from, name: 'bob' });
    expect(takeAll(queue).slice(0, 4)).toEqual(['ann', 'bob', 'ann', 'bob']);
  });

  test('finishes earlier requests of an account first', () => {
    const queue = new FairQueue<string>();
    const [first, second] = [sender('a'), sender('a')];
    queue.add(second, 'second');
    queue.add(first, 'first');
    expect([queue.next(), queue.next()]).toEqual(['first', 'second']);
  });

  test('finds the longest line', () => {
    const queue = queueOf([
      ['a', 'ann'],
      ['b', 'bob'],
      ['b', 'ben'],
      ['b', 'bob'],
      ['c', 'cat'],
      ['c', 'cat'],
    ]);
    expect(queue.longestLine().map(({ name }) => name)).toEqual(['bob', 'bob']);
  });

  test('returns each item once, except removed ones, and keeps no lines', () => {
    const item = fc.record({
      network: fc.constantFrom('a', 'b', 'c'),
      account: fc.constantFrom('ann', 'bob'),
      isRemoved: fc.boolean(),
      takesBefore: fc.integer({ min: 0, max: 2 }),
    });
    fc.assert(
      fc.property(fc.array(item), (items) => {
        const queue = new FairQueue<number>();
        const taken: number[] = [];
        const expected = new Set<number>();
        for (const [index, { network, account, isRemoved, takesBefore }] of items.entries()) {
          for (let i = 0; i < takesBefore; i += 1) {
            const next = queue.next();
            if (next !== undefined) taken.push(next);
          }
          const from = sender(network, account);
          queue.add(from, index);
          if (isRemoved) queue.remove(from, index);
          else expected.add(index);
        }
        for (let next = queue.next(); next !== undefined; next = queue.next()) taken.push(next);
        expect(taken.toSorted((a, b) => a - b)).toEqual([...expected]);
        expect(queue.size).toBe(0);
      }),
    );
  });
});
