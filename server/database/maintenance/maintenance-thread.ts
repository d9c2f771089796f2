import { Worker } from 'node:worker_threads';
import type { Engine, TaskName, TaskTarget } from '../engine.ts';
import { deserializeError } from '../serialized-error.ts';
import type {
  TaskRequest,
  TaskResponse,
  ThreadAnnouncement,
  ThreadRequest,
  ThreadSettings,
  ThreadWarning,
} from './thread-messages.ts';

/** A thread that exits within this time after its start is restarted after a delay. Longer than a slow start takes. */
const MIN_LIFETIME_MS = 5_000;

const RESTART_DELAY_MS = 1_000;

interface RunningWorker {
  worker: Worker;
  exited: Promise<void>;
}

interface PendingTask extends PromiseWithResolvers<void> {
  request: TaskRequest;
  /** Whether the request has been sent to a thread. Unsent requests wait for the restart. */
  isSent: boolean;
}

/** Runs tasks and maintenance on a thread, because they would block the main thread. Restarts it if it crashes. */
export class MaintenanceThread {
  readonly #entry: URL;
  readonly #settings: ThreadSettings;
  readonly #unavailableError: (message: string) => Error;
  readonly #announceEvent: Engine['announceEvent'];
  readonly #pendingTasks = new Map<number, PendingTask>();
  #lastRequestId = 0;
  #isStopping = false;
  /** The last thread that was started. */
  #running: RunningWorker;
  /** Whether this thread has failed or exited, so that it receives no more messages. */
  #hasEnded = false;
  #restartTimer: NodeJS.Timeout | undefined;

  /**
   * @param entry a module that calls `runThread`
   * @param unavailableError creates an error for which `Engine.isUnavailable` returns true
   * @param announceEvent    called with the events of the thread
   */
  constructor(
    entry: URL,
    settings: ThreadSettings,
    unavailableError: (message: string) => Error,
    announceEvent: Engine['announceEvent'] = () => {},
  ) {
    this.#entry = entry;
    this.#settings = settings;
    this.#unavailableError = unavailableError;
    this.#announceEvent = announceEvent;
    this.#running = this.#start();
  }

  /**
   * Runs a task. After a crash of the thread, the task waits for the restart.
   * @throws the error of the task or of a crashed thread. If the service stops first: an error for which
   *   `Engine.isUnavailable` returns true.
   */
  async runTask(task: TaskName, target: TaskTarget): Promise<void> {
    if (this.#isStopping && this.#hasEnded) throw this.#stoppingError();
    const requestId = ++this.#lastRequestId;
    const request: TaskRequest = { kind: 'run task', requestId, task, target };
    const pending: PendingTask = {
      ...Promise.withResolvers<void>(),
      request,
      isSent: !this.#hasEnded,
    };
    this.#pendingTasks.set(requestId, pending);
    if (pending.isSent) this.#send(request);
    await pending.promise;
  }

  /** Resolves when the running task has ended and the thread has exited. */
  async stop(): Promise<void> {
    this.#preventRestart();
    this.#send({ kind: 'stop' });
    await this.#running.exited;
  }

  /** Ends the thread without waiting for its work. */
  async terminate(): Promise<void> {
    this.#preventRestart();
    await this.#running.worker.terminate();
  }

  #preventRestart(): void {
    this.#isStopping = true;
    clearTimeout(this.#restartTimer);
    this.#rejectTasks(({ isSent }) => !isSent, this.#stoppingError());
  }

  #stoppingError(): Error {
    return this.#unavailableError('The service is stopping.');
  }

  #send(request: ThreadRequest): void {
    this.#running.worker.postMessage(request);
  }

  #start(): RunningWorker {
    const startedAt = performance.now();
    const worker = new Worker(this.#entry, { workerData: this.#settings });
    this.#hasEnded = false;
    let failure: Error | undefined;
    worker.on('message', (message: TaskResponse | ThreadAnnouncement | ThreadWarning) => {
      if ('warning' in message) process.emitWarning(message.warning);
      else if ('subject' in message) this.#announceEvent(message.subject);
      else this.#settleTask(message);
    });
    worker.on('error', (error: Error) => {
      this.#hasEnded = true;
      failure = error;
      process.emitWarning(error);
    });
    const exited = new Promise<void>((resolve) => {
      worker.on('exit', () => {
        this.#hasEnded = true;
        failure ??= this.#isStopping
          ? this.#stoppingError()
          : new Error('The maintenance thread has exited.');
        this.#rejectTasks(({ isSent }) => isSent, failure);
        if (!this.#isStopping) this.#restart(performance.now() - startedAt);
        resolve();
      });
    });
    return { worker, exited };
  }

  #restart(lifetimeMs: number): void {
    this.#restartTimer = setTimeout(
      () => {
        this.#running = this.#start();
        for (const pending of this.#pendingTasks.values()) {
          pending.isSent = true;
          this.#send(pending.request);
        }
      },
      lifetimeMs < MIN_LIFETIME_MS ? RESTART_DELAY_MS : 0,
    );
  }

  #settleTask({ requestId, error }: TaskResponse): void {
    const pending = this.#pendingTasks.get(requestId);
    this.#pendingTasks.delete(requestId);
    if (error) pending?.reject(deserializeError(error));
    else pending?.resolve();
  }

  #rejectTasks(condition: (task: PendingTask) => boolean, error: Error): void {
    for (const [requestId, task] of this.#pendingTasks) {
      if (!condition(task)) continue;
      this.#pendingTasks.delete(requestId);
      task.reject(error);
    }
  }
}
