import type { TaskName, TaskTarget } from '../engine.ts';
import type { SerializedError } from '../serialized-error.ts';

/** The thread's `workerData`. */
export interface ThreadSettings {
  /** The file or URL of the database. */
  database: string;
  /** The file of the copy of the search index, if any. */
  indexFolder?: string | undefined;
  /** The file for the hashes of deleted accounts. On SQLite, it is next to the database. */
  journal?: string | undefined;
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

/** An event in the thread to announce. See `Engine.announceEvent`. */
export interface ThreadAnnouncement {
  subject: string;
}

/** The thread's response to a `TaskRequest`. */
export interface TaskResponse {
  requestId: number;
  /** Omitted if the task succeeded. */
  error?: SerializedError;
}

/** A warning of the thread, for the log of the process. */
export interface ThreadWarning {
  warning: string;
}
