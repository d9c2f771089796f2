import { preload } from './processes.ts';

const INDEXING = new URL('../../server/message-words/indexing.ts', import.meta.url);

/** Settings of a server that indexes every message, however few a space has. */
export const EARLY_INDEX = preload(
  `import { INDEXING_LIMITS } from '${INDEXING}'; INDEXING_LIMITS.minMessages = 1;`,
);
