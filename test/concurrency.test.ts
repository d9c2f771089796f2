import { describe, expect, test } from 'vitest';
import { limitConcurrency } from '../server/concurrency.ts';

describe('a concurrency limit', () => {
  test('lets so many tasks run at a time, in the order of asking', async () => {
    const limited = limitConcurrency(2);
    const begun: number[] = [];
    let running = 0;
    let most = 0;
    const tasks = Array.from({ length: 7 }, (_, i) =>
      limited(async () => {
        begun.push(i);
        running += 1;
        most = Math.max(most, running);
        await new Promise(setImmediate);
        running -= 1;
        return i;
      }),
    );
    expect(limited.waiting()).toBe(5);
    expect(await Promise.all(tasks)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(most).toBe(2);
    expect(limited.waiting()).toBe(0);
  });

  test('passes on how a task fails, and goes on', async () => {
    const limited = limitConcurrency(1);
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

  test('keeps newcomers from overtaking and from running beside those that waited', async () => {
    const limited = limitConcurrency(1);
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
    const newcomer = first.then(() => task('newcomer'));
    await Promise.all([second, newcomer]);
    expect(order).toEqual(['first', 'second', 'newcomer']);
  });
});
