import cluster, { type Worker } from 'node:cluster';

/** A worker requests or returns the turn. The supervisor sends `granted`. */
interface TurnMessage {
  renderingTurn: 'requested' | 'granted' | 'returned';
}

/**
 * Makes this process, the supervisor, let one worker at a time render an avatar, because each needs up to 500 MB. Turns
 * are granted in the order of the requests. A worker that exits returns its turn.
 */
export function grantRenderingTurns(): void {
  /** The first one has the turn. */
  const workers: Worker[] = [];
  const grant = () => {
    // The empty callback ignores errors: a worker that exits meanwhile needs no turn.
    workers[0]?.send({ renderingTurn: 'granted' } satisfies TurnMessage, () => {});
  };
  const remove = (worker: Worker) => {
    const index = workers.indexOf(worker);
    if (index === -1) return;
    workers.splice(index, 1);
    if (index === 0) grant();
  };
  cluster.on('message', (worker, { renderingTurn }: Partial<TurnMessage>) => {
    if (renderingTurn === 'returned') remove(worker);
    if (renderingTurn !== 'requested' || worker.isDead()) return;
    workers.push(worker);
    if (workers.length === 1) grant();
  });
  cluster.on('exit', remove);
}

/**
 * Waits for the turn of this process to render an avatar. A process requests one turn at a time. Without a supervisor,
 * it always has the turn. Disposing returns the turn.
 */
export async function takeRenderingTurn(): Promise<Disposable> {
  if (!cluster.isWorker) return { [Symbol.dispose]() {} };
  const send = (renderingTurn: TurnMessage['renderingTurn']) =>
    process.send?.({ renderingTurn } satisfies TurnMessage, () => {});
  const granted = Promise.withResolvers<void>();
  const receive = ({ renderingTurn }: Partial<TurnMessage>) => {
    if (renderingTurn === 'granted') granted.resolve();
  };
  process.on('message', receive);
  send('requested');
  await granted.promise;
  process.off('message', receive);
  return { [Symbol.dispose]: () => void send('returned') };
}
