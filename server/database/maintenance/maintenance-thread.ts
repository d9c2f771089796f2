import { Worker } from 'node:worker_threads';
import type { TaskName, TaskTarget } from '../engine.ts';
import { deserializeError } from '../serialized-error.ts';
import type { TaskResponse, ThreadRequest, ThreadSettings } from './thread-messages.ts';

interface RunningWorker {
  worker: Worker;
  exited: Promise<void>;
}

/** Runs tasks and maintenance on a thread, because they would block the main thread. Restarts it if it crashes. */
export class MaintenanceThread {
  readonly #entry: URL;
  readonly #settings: ThreadSettings;
  readonly #pendingTasks = new Map<number, PromiseWithResolvers<void>>();
  #lastRequestId = 0;
  #isStopping = false;
  #running: RunningWorker;

  /** @param entry a module that calls `runThread` */
  constructor(entry: URL, settings: ThreadSettings) {
    this.#entry = entry;
    this.#settings = settings;
    this.#running = this.#start();
  }

  /**
   * @throws the error of the task or of a crashed thread. If the service stops first: an error for which
   *   `Engine.isUnavailable` returns true.
   */
  runTask(task: TaskName, target: TaskTarget): Promise<void> {
    const requestId = ++this.#lastRequestId;
    const pending = Promise.withResolvers<void>();
    this.#pendingTasks.set(requestId, pending);
    this.#send({ kind: 'run task', requestId, task, target });
    return pending.promise;
  }

  /** Resolves when the running task has ended and the thread has exited. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#send({ kind: 'stop' });
    await this.#running.exited;
  }

  /** Ends the thread without waiting for its work. */
  async terminate(): Promise<void> {
    this.#isStopping = true;
    await this.#running.worker.terminate();
  }

  #send(request: ThreadRequest): void {
    this.#running.worker.postMessage(request);
  }

  #start(): RunningWorker {
    const worker = new Worker(this.#entry, { workerData: this.#settings });
    let failure = new Error('The maintenance thread has exited.');
    worker.on('message', (response: TaskResponse) => this.#settleTask(response));
    worker.on('error', (error: Error) => {
      failure = error;
      process.emitWarning(error);
    });
    const exited = new Promise<void>((resolve) => {
      worker.on('exit', () => {
        for (const { reject } of this.#pendingTasks.values()) reject(failure);
        this.#pendingTasks.clear();
        if (!this.#isStopping) this.#running = this.#start();
        resolve();
      });
    });
    return { worker, exited };
  }

  #settleTask({ requestId, error }: TaskResponse): void {
    const pending = this.#pendingTasks.get(requestId);
    this.#pendingTasks.delete(requestId);
    if (error) pending?.reject(deserializeError(error));
    else pending?.resolve();
  }
}
