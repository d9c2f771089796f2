import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { avatarUrls } from '../../server/avatars/store.ts';
import { openDatabase } from '../../server/database/open.ts';
import type { AvatarResources } from '../../server/resources.ts';
import {
  type Dictionary,
  readDictionary,
  refreshDictionary,
} from '../../server/search/dictionary/dictionary.ts';
import { indexer } from '../../server/search/document-rows.ts';
import { enqueueSpaces } from '../../server/search/index-queue.ts';
import { readIndex, type SearchView } from '../../server/search/view.ts';
import { writerOf } from '../../server/search/writer-of.ts';
import { spaceRow } from '../database/spaces.ts';
import { userRow } from '../database/users.ts';
import { createTestDatabase } from '../support/databases.ts';

/** Searches a snapshot of the index. */
export function viewed<T>(
  { engine }: Pick<AvatarResources, 'engine'>,
  search: (view: SearchView) => Promise<T>,
): Promise<T> {
  return readIndex(engine, search);
}

/** A public space, with its primary key and its number of participants. */
export interface IndexedSpace {
  pk: number;
  title: string;
  description: string;
  participants: number;
}

/** A temporary database with an index of spaces and the dictionary of their words. */
export interface GeneratedIndex extends AsyncDisposable {
  resources: AvatarResources;
  dictionary: Dictionary;
}

export async function generateIndex(spaces: readonly IndexedSpace[]): Promise<GeneratedIndex> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'space-service-index-'));
  opened.defer(() => rm(folder, { recursive: true }));
  const database = opened.use(await createTestDatabase());
  const location = { dataDir: folder, ...database.location };
  {
    await using filled = await openDatabase(location, { purpose: 'import' });
    await filled.db.transaction().execute(async (trx) => {
      const { pk: creator_pk } = await trx
        .insertInto('users')
        .values(userRow('creator'))
        .returning('pk')
        .executeTakeFirstOrThrow();
      for (const { pk, title, description, participants } of spaces) {
        const row = { ...spaceRow(String(pk), creator_pk), pk, title, description };
        await trx
          .insertInto('spaces')
          .values({ ...row, participant_count: participants })
          .execute();
        await enqueueSpaces(trx, [pk]);
      }
      await writerOf(filled).indexQueuedSpaces(trx);
    });
  }
  // On PostgreSQL, builds the copy of the index.
  const engine = opened.use(await openDatabase(location, { runsMaintenance: false, indexer }));
  await refreshDictionary(engine.searchIndex.engine);
  const dictionary = await readDictionary(engine.searchIndex);
  const owned = opened.move();
  return {
    resources: { engine, avatars: avatarUrls('http://127.0.0.1/avatars') },
    dictionary,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Returns the dictionary that an index would have if every space existed `factor` times. */
export function scaleDictionary({ trie, spaces, ...rest }: Dictionary, factor: number): Dictionary {
  const scale = (counts: Uint32Array) => counts.map((count) => count * factor);
  return {
    ...rest,
    spaces: spaces * factor,
    trie: { ...trie, documents: scale(trie.documents), total: scale(trie.total) },
  };
}
