import cluster from 'node:cluster';

/** Makes this process, the supervisor, pass on messages with a property of this name from each worker to the others. */
export function relayMessages(name: string): void {
  cluster.on('message', (sender, message: string | object) => {
    if (typeof message === 'string' || !(name in message)) return;
    for (const worker of Object.values(cluster.workers ?? {})) {
      // The empty callback ignores errors: a process that exits meanwhile needs no message.
      if (worker && worker !== sender && worker.isConnected()) worker.send(message, () => {});
    }
  });
}
