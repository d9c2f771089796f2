import { once } from 'node:events';
import { Agent } from 'node:http';
import { type Call, send } from './load.ts';

// The process of a greedy client. Gets an order from its parent, says that it begins, and repeats requests on many
// connections until the next message. Then it responds with the number of requests.

export interface AttackOrder {
  url: string;
  /** The address that the requests come from. */
  localAddress: string;
  connections: number;
  /** The connections send these requests in turn. */
  calls: readonly Call[];
}

let isStopping = false;
let sent = 0;

const [{ url, localAddress, connections, calls }] = (await once(process, 'message')) as [
  AttackOrder,
];
for (const event of ['message', 'disconnect']) {
  process.once(event, () => {
    isStopping = true;
  });
}
process.send?.(0);
const agent = new Agent({ keepAlive: true, localAddress });
await Promise.all(
  Array.from({ length: connections }, async (_, i) => {
    const call = calls[i % calls.length] as Call;
    while (!isStopping) {
      await send(url, call, agent);
      sent += 1;
    }
  }),
);
process.send?.(sent, () => process.disconnect());
agent.destroy();
