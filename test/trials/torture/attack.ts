import { once } from 'node:events';
import { Agent } from 'node:http';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Call, send } from './load.ts';

// The process of a greedy client. Gets an order from its parent, says that it begins, and repeats requests on many
// connections until the next message. Then it responds with the number of requests.

export interface AttackOrder {
  url: string;
  connections: number;
  /** The connections send these requests in turn. */
  calls: readonly Call[];
  /** Whether the requests wait for messages. Each begins where the last response on its connection has ended. */
  follows?: boolean;
}

let isStopping = false;
let sent = 0;

const [{ url, connections, calls, follows }] = (await once(process, 'message')) as [AttackOrder];
for (const event of ['message', 'disconnect']) {
  process.once(event, () => {
    isStopping = true;
  });
}
// Real attackers do not use the processors of the server.
setPriority(19);
process.send?.(0);
const agent = new Agent({ keepAlive: true });

async function follow({ path, headers }: Call): Promise<void> {
  const target = new URL(path, url);
  while (!isStopping) {
    const response = await fetch(target, { headers }).catch(() => undefined);
    if (response?.ok) target.searchParams.set('after', (await response.json()).newer_cursor);
    else await sleep(1_000);
    sent += 1;
  }
}

const working = Promise.all(
  Array.from({ length: connections }, async (_, i) => {
    if (follows) return follow(calls[i % calls.length] as Call);
    for (let next = i; !isStopping; next += connections) {
      await send(url, calls[next % calls.length] as Call, agent);
      sent += 1;
    }
  }),
);
// Requests that wait for messages may take longer.
await Promise.race([working, new Promise((resolve) => process.once('message', resolve))]);
process.send?.(sent, () => process.exit());
