import { DomainError, type ErrorCode } from '../../errors.ts';
import type { TaskName, TaskTarget } from '../engine.ts';

/** The thread's `workerData`. */
export interface ThreadSettings {
  /** The file or URL of the database. */
  database: string;
  runsMaintenance: boolean;
  /** URL of a module that exports `tasks`. */
  tasksModule: string | undefined;
}

export interface TaskRequest {
  kind: 'run task';
  requestId: number;
  task: TaskName;
  target: TaskTarget;
}

export type ThreadRequest = TaskRequest | { kind: 'stop' };

/** The thread's response to a `TaskRequest`. */
export interface TaskResponse {
  requestId: number;
  /** Omitted if the task succeeded. */
  error?: SerializedError;
}

export interface SerializedError {
  name: string;
  message: string;
  code: string | undefined;
}

/** Copies the properties of an error that callers need. Structured cloning would drop its code. */
export function serializeError(error: unknown): SerializedError {
  const { name, message, code } = error as Error & { code?: string };
  return { name, message, code };
}

/** Restores an error. Only a `DomainError` keeps its class. */
export function deserializeError({ name, message, code }: SerializedError): Error {
  if (name === 'DomainError') return new DomainError(code as ErrorCode, message);
  return Object.assign(new Error(message), { name, code });
}
