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

  describe('with shares', () => {
    /** Starts tasks of accounts while another one runs. Returns their outcomes in the order in which they ended. */
    const run = async (tasks: [account: string, cost: number][], maxWaiting = 9) => {
      const limited = limitConcurrency(1, maxWaiting);
      const ended: string[] = [];
      const running = limited(() => new Promise(setImmediate));
      const results = tasks.map(([account, cost]) =>
        limited(async () => ended.push(`${account} ${cost}`), { account, cost }),
      );
      for (const result of await Promise.allSettled([running, ...results])) {
        if (result.status === 'rejected') ended.push(result.reason.code);
      }
      return ended.join(', ');
    };

    test('runs cheap tasks before expensive ones', async () => {
      expect(
        await run([
          ['ann', 8],
          ['bob', 1],
          ['cat', 1],
          ['dan', 5],
        ]),
      ).toBe('bob 1, cat 1, dan 5, ann 8');
    });

    test('gives an account with many cheap tasks no more time than others', async () => {
      expect(
        await run([
          ['ann', 2],
          ['ann', 2],
          ['ann', 2],
          ['bob', 5],
        ]),
      ).toBe('ann 2, ann 2, bob 5, ann 2');
    });

    test('keeps an account that repeats cheap tasks from delaying others for long', async () => {
      const limited = limitConcurrency(1, 9);
      let count = 0;
      let isDone = false;
      const repeat = async () => {
        while (!isDone && count < 100) {
          const task = async () => {
            count += 1;
          };
          await limited(task, { account: 'ann', cost: 1 });
        }
      };
      const repeating = [repeat(), repeat(), repeat()];
      await limited(async () => {}, { account: 'bob', cost: 5 });
      isDone = true;
      expect(count).toBeLessThan(10);
      await Promise.all(repeating);
    });

    test('runs an expensive task soon, even if new accounts keep adding cheap ones', async () => {
      const limited = limitConcurrency(1, 9);
      let count = 0;
      let isDone = false;
      const repeat = async () => {
        while (!isDone && count < 200) {
          const task = async () => {
            count += 1;
          };
          await limited(task, { account: `account ${count}`, cost: 1 });
        }
      };
      const repeating = [repeat(), repeat(), repeat()];
      await limited(async () => {}, { account: 'bob', cost: 5 });
      isDone = true;
      expect(count).toBeLessThan(30);
      await Promise.all(repeating);
    });

    test('keeps the place of an account whose earlier tasks were rejected', async () => {
      const limited = limitConcurrency(1, 2);
      const order: string[] = [];
      const added: Promise<unknown>[] = [];
      const add = (account: string, cost: number, task = () => {}) => {
        const result = limited(
          async () => {
            order.push(account);
            task();
          },
          { account, cost },
        );
        added.push(result);
        return result;
      };
      add('ann', 1);
      add('bob', 1, () => void add('dan', 2));
      add('cat', 1, () => void add('eve', 4));
      const rejected = Array.from({ length: 5 }, () =>
        expect(limited(async () => {}, { account: 'dan', cost: 2 })).rejects.toThrow(),
      );
      await Promise.all(rejected);
      while (added.length > 0) await added.shift();
      expect(order).toEqual(['ann', 'bob', 'cat', 'dan', 'eve']);
    });

    test('rejects the last task if too many wait', async () => {
      const tasks: [string, number][] = [
        ['ann', 5],
        ['bob', 7],
        ['cat', 1],
      ];
      expect(await run(tasks, 2)).toBe('cat 1, ann 5, unavailable');
    });
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
