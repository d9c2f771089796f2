import { describe, expect, test, vi } from 'vitest';
import { limitConcurrency } from '../../server/system/concurrency.ts';

describe('A concurrency limit', () => {
  test('runs at most `limit` tasks concurrently, in the order of the calls', async () => {
    const limited = limitConcurrency(2, 5);
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
    const limited = limitConcurrency(1, 2);
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
    const limited = limitConcurrency(1, 2);
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
    const limited = limitConcurrency(1, 1);
    let finish = () => {};
    const running = limited(() => new Promise<void>((resolve) => (finish = resolve)));
    const waiting = limited(async () => 'done');
    await expect(limited(async () => 'never')).rejects.toMatchObject({ code: 'unavailable' });
    finish();
    await running;
    expect(await waiting).toBe('done');
    expect(await limited(async () => 'room again')).toBe('room again');
  });

  test('runs the cheapest of the waiting tasks next', async () => {
    const limited = limitConcurrency(1, 5);
    const begun: string[] = [];
    const task = (name: string, cost: number) => limited(async () => begun.push(name), cost);
    const running = task('running', 9);
    await Promise.all([running, task('dear', 8), task('cheap', 1), task('next', 1), task('b', 5)]);
    expect(begun).toEqual(['running', 'cheap', 'next', 'b', 'dear']);
  });

  test('rejects the most expensive of the waiting tasks if too many wait', async () => {
    const limited = limitConcurrency(1, 2);
    const running = limited(async () => 'running');
    const tasks = [5, 7, 1].map((cost) => limited(async () => cost, cost));
    const outcomes = await Promise.allSettled(tasks);
    expect(outcomes).toMatchObject([
      { value: 5 },
      { reason: { code: 'unavailable' } },
      { value: 1 },
    ]);
    expect(await running).toBe('running');
  });

  test('rejects a task that has waited too long, and continues', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const limited = limitConcurrency(1, 2);
      let finish = () => {};
      const running = limited(() => new Promise<void>((resolve) => (finish = resolve)));
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
