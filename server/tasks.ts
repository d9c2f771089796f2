import { eraseAccount } from './account-lifecycle/deletion.ts';
import { eraseDeletedRows } from './account-lifecycle/erasure.ts';
import type { Tasks } from './database/engine.ts';
import { indexMessages } from './message-words/indexing.ts';
import { refreshDictionary } from './search/dictionary/dictionary.ts';
import { indexer } from './search/document-rows.ts';
import { fillIndex } from './search/rebuild.ts';
import { eraseSpace } from './spaces/space-deletion.ts';

/** The tasks of `Engine.runTask` and of maintenance. The maintenance thread imports this module by its URL. */
export const tasks: Tasks = {
  eraseAccount,
  eraseSpace,
  eraseDeletedRows,
  indexMessages,
  refreshDictionary,
  fillIndex,
  indexer,
};

export const tasksModule = new URL(import.meta.url);
