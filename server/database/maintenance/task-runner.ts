import type { Engine, Tasks } from '../engine.ts';
import { serializeError } from '../serialized-error.ts';
import { missingTask } from './missing-task.ts';
import type { TaskRequest, TaskResponse } from './thread-messages.ts';

/** Runs the requested tasks one after the other. */
export class TaskRunner {
  readonly #engine: Engine;
  readonly #tasks: Partial<Tasks>;
  readonly #stopping: AbortSignal;
  readonly #respond: (response: TaskResponse) => void;
  readonly #unavailableError: (message: string) => Error;
  #lastTask: Promise<void> = Promise.resolve();

  constructor(
    engine: Engine,
    tasks: Partial<Tasks>,
    stopping: AbortSignal,
    respond: (response: TaskResponse) => void,
    unavailableError: (message: string) => Error,
  ) {
    this.#engine = engine;
    this.#tasks = tasks;
    this.#stopping = stopping;
    this.#respond = respond;
    this.#unavailableError = unavailableError;
  }

  enqueue(request: TaskRequest): void {
    this.#lastTask = this.#lastTask.then(() => this.#run(request));
  }

  /** Resolves when every enqueued task has ended. */
  async drain(): Promise<void> {
    let last: Promise<void>;
    do {
      last = this.#lastTask;
      await last;
      // Another task may have been enqueued meanwhile.
    } while (last !== this.#lastTask);
  }

  async #run({ requestId, task: name, target }: TaskRequest): Promise<void> {
    const response: TaskResponse = { requestId };
    try {
      // A stopping service has already closed its HTTP connections, so no client is waiting for the task.
      if (this.#stopping.aborted) throw this.#unavailableError('The service is stopping.');
      const task = this.#tasks[name];
      if (!task) throw missingTask(name);
      await task(this.#engine, target);
    } catch (error) {
      response.error = serializeError(error);
    }
    this.#respond(response);
  }
}
