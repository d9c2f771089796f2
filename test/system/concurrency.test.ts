import { describe, expect, test, vi } from 'vitest';
import { limitConcurrency } from '../../server/system/concurrency.ts';
import { runAs } from '../../server/system/senders.ts';

describe('A concurrency limit', () => {
  test('runs at most `limit` tasks concurrently, in the order of the calls', async () => {
    const limited = limitConcurrency({ limit: 2, maxWaiting: 5 });
    const begun: number[] = [];
    let running = 0;
    let maxRunning = 0;
    const tasks = Array.from({ length: 7 }, (_, i) =>
      limited(async () => {
        begun.push(i);
        running += 1;
        maxRunning = Math.max(maxRunning, running);
        await new Promise(setImmediate);
        running -= 1;
        return i;
      }),
    );
    expect(limited.countWaiting()).toBe(5);
    expect(await Promise.all(tasks)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(maxRunning).toBe(2);
    expect(limited.countWaiting()).toBe(0);
  });

  test('rejects with the error of a task, and continues', async () => {
    const limited = limitConcurrency({ limit: 1, maxWaiting: 2 });
    const failures = [
      limited(async () => {
        throw new Error('first');
      }),
      limited(() => {
        throw new Error('second');
      }),
    ];
    const success = limited(async () => 'third');
    expect(await Promise.allSettled(failures)).toMatchObject([
      { reason: { message: 'first' } },
      { reason: { message: 'second' } },
    ]);
    expect(await success).toBe('third');
  });

  test('keeps new tasks from overtaking waiting ones', async () => {
    const limited = limitConcurrency({ limit: 1, maxWaiting: 2 });
    let running = 0;
    const order: string[] = [];
    const task = (name: string) =>
      limited(async () => {
        running += 1;
        expect(running).toBe(1);
        order.push(name);
        await null;
        running -= 1;
      });
    const first = task('first');
    const second = task('second');
    const newTask = first.then(() => task('new task'));
    await Promise.all([second, newTask]);
    expect(order).toEqual(['first', 'second', 'new task']);
  });

  test('rejects a task if too many wait', async () => {
    const limited = limitConcurrency({ limit: 1, maxWaiting: 1 });
    let finish = () => {};
    const running = limited(() => new Promise<void>((resolve) => (finish = resolve)));
    const waiting = limited(async () => 'done');
    await expect(limited(async () => 'never')).rejects.toMatchObject({ code: 'unavailable' });
    finish();
    await running;
    expect(await waiting).toBe('done');
    expect(await limited(async () => 'room again')).toBe('room again');
  });

  test('lets networks take turns', async () => {
    const limited = limitConcurrency({ limit: 1, maxWaiting: 9 });
    const order: string[] = [];
    const add = (network: string) =>
      runAs({ network, account: network, request: 0 }, () =>
        limited(async () => {
          order.push(network);
          await new Promise(setImmediate);
        }),
      );
    await Promise.all(['a', 'a', 'a', 'b'].map(add));
    expect(order).toEqual(['a', 'b', 'a', 'a']);
  });

  test('rejects the newest task of the network with the most', async () => {
    const limited = limitConcurrency({ limit: 1, maxWaiting: 3 });
    const add = (network: string) =>
      runAs({ network, account: network, request: 0 }, () =>
        limited(() => new Promise<void>(setImmediate)),
      ).then(
        () => network,
        ({ code }) => code,
      );
    const outcomes = ['a', 'a', 'a', 'a', 'b'].map(add);
    expect(await Promise.all(outcomes)).toEqual(['a', 'a', 'a', 'unavailable', 'b']);
  });

  test('runs fewer tasks of a network while others are active', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const limited = limitConcurrency({ limit: 4, maxWaiting: 9, maxBesideOthers: 2 });
      const running = { a: 0, b: 0 };
      const add = (network: 'a' | 'b') =>
        runAs({ network, account: network, request: 0 }, async () => {
          const end = await limited.begin();
          running[network] += 1;
          return end;
        });
      const alone = await Promise.all(['a', 'a', 'a', 'a'].map(() => add('a')));
      expect(running).toEqual({ a: 4, b: 0 });
      const other = add('b');
      for (const end of alone) end();
      (await other)();
      const beside = [add('a'), add('a'), add('a')];
      await new Promise(setImmediate);
      expect(running.a).toBe(6);
      vi.advanceTimersByTime(1_001);
      (await beside[0])?.();
      await beside[2];
      expect(running.a).toBe(7);
      const second = add('a');
      await second;
      expect(running.a).toBe(8);
    } finally {
      vi.useRealTimers();
    }
  });

  test('rejects a task that has waited too long, and continues', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const limited = limitConcurrency({ limit: 1, maxWaiting: 2 });
      let finish = () => {};
      const running = limited(() => new Promise<void>((resolve) => (finish = resolve)));
      await new Promise(setImmediate);
      let hasBegun = false;
      const late = limited(async () => {
        hasBegun = true;
      });
      // The maximum waiting time is 2 seconds.
      vi.advanceTimersByTime(2_001);
      const next = limited(async () => 'next');
      finish();
      await running;
      await expect(late).rejects.toMatchObject({ code: 'unavailable' });
      expect(hasBegun).toBe(false);
      expect(await next).toBe('next');
    } finally {
      vi.useRealTimers();
    }
  });
});
