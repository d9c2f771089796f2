import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test } from 'vitest';
import { endOfSlice, nextTurn, takeTurn } from '../../server/system/event-loop.ts';
import { currentSender, runAs, SERVER } from '../../server/system/senders.ts';

/** Blocks the event loop, like a query of SQLite. */
function work(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

function sender(network: string, account = network) {
  return { network, account, request: 0 };
}

test('Work that others wait for does not wait for the accounts of its network', async () => {
  const begun: string[] = [];
  for (let i = 0; i < 50; i += 1) {
    takeTurn(sender('a', `account ${i}`), () => {
      begun.push('a');
      work(2);
    });
  }
  const [own, shared] = [nextTurn, () => nextTurn(SERVER)].map((next) =>
    runAs(sender('a', 'last'), next).then(() => begun.length),
  );
  expect(await shared).toBeLessThan(5);
  expect(await own).toBe(50);
});

test('Work that others wait for takes turns with other networks', async () => {
  const begun: string[] = [];
  const search = async () => {
    for (let i = 0; i < 50; i += 1) {
      await nextTurn(SERVER);
      begun.push('search');
      work(2);
    }
  };
  const searches = Promise.all([1, 2, 3].map((i) => runAs(sender('a', `account ${i}`), search)));
  await runAs(sender('a'), () => nextTurn(SERVER));
  await new Promise<void>((resolve) => takeTurn(sender('b'), resolve));
  expect(begun.length).toBeLessThan(10);
  await searches;
});

test('A turn belongs to its sender, and not to the context of whoever took it', async () => {
  const context = new AsyncLocalStorage<string>();
  const seen = await new Promise((resolve) =>
    context.run('a transaction', () =>
      takeTurn(sender('a'), () => resolve([currentSender().network, context.getStore()])),
    ),
  );
  expect(seen).toEqual(['a', undefined]);
});

test('The end of a slice comes after all turns that were waiting when it began', async () => {
  const begun: number[] = [];
  const ends = Array.from({ length: 3 }, (_, i) =>
    new Promise<void>((resolve) => takeTurn(sender('a'), resolve)).then(() => {
      begun.push(i);
      return endOfSlice().then(() => begun.length);
    }),
  );
  expect(await Promise.all(ends)).toEqual([3, 3, 3]);
});

test('A turn that throws does not stop later ones', async () => {
  // Vitest would report an exception in a callback of Node.js, so this turn begins at once.
  await new Promise(setImmediate);
  expect(() =>
    takeTurn(sender('a'), () => {
      throw new Error('a fault');
    }),
  ).toThrow('a fault');
  await new Promise<void>((resolve) => takeTurn(sender('b'), resolve));
});
