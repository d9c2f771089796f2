import cluster, { type Worker } from 'node:cluster';

/** Ordinary images have their own turn, so that they do not wait for large ones. */
export type RenderingSize = 'ordinary' | 'large';

/** A worker requests or returns a turn. The supervisor sends `granted`. */
interface TurnMessage {
  renderingTurn: 'requested' | 'granted' | 'returned';
  size: RenderingSize;
}

/**
 * Makes this process, the supervisor, let one worker at a time render an avatar of each size, because a large one needs
 * up to 600 MB. Turns are granted in the order of the requests. A worker that exits returns its turns.
 */
export function grantRenderingTurns(): void {
  /** The first one of each size has the turn. */
  const queues: Record<RenderingSize, Worker[]> = { ordinary: [], large: [] };
  const grant = (size: RenderingSize) => {
    const message: TurnMessage = { renderingTurn: 'granted', size };
    // The empty callback ignores errors: a worker that exits meanwhile needs no turn.
    queues[size][0]?.send(message, () => {});
  };
  const remove = (worker: Worker, size: RenderingSize) => {
    const index = queues[size].indexOf(worker);
    if (index === -1) return;
    queues[size].splice(index, 1);
    if (index === 0) grant(size);
  };
  cluster.on('message', (worker, { renderingTurn, size }: Partial<TurnMessage>) => {
    if (size === undefined) return;
    if (renderingTurn === 'returned') remove(worker, size);
    if (renderingTurn !== 'requested' || worker.isDead()) return;
    queues[size].push(worker);
    if (queues[size].length === 1) grant(size);
  });
  cluster.on('exit', (worker) => {
    remove(worker, 'ordinary');
    remove(worker, 'large');
  });
}

/**
 * Waits for the turn of this process to render an avatar of a size. A process requests one turn of each size at a time.
 * Without a supervisor, it always has the turn. Disposing returns the turn.
 */
export async function takeRenderingTurn(size: RenderingSize): Promise<Disposable> {
  if (!cluster.isWorker) return { [Symbol.dispose]() {} };
  const send = (renderingTurn: TurnMessage['renderingTurn']) =>
    process.send?.({ renderingTurn, size } satisfies TurnMessage, () => {});
  const granted = Promise.withResolvers<void>();
  const receive = (message: Partial<TurnMessage>) => {
    if (message.renderingTurn === 'granted' && message.size === size) granted.resolve();
  };
  process.on('message', receive);
  send('requested');
  await granted.promise;
  process.off('message', receive);
  return { [Symbol.dispose]: () => void send('returned') };
}
