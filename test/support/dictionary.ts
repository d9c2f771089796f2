import { refreshDictionary } from '../../server/search/dictionary/dictionary.ts';
import type { TestApp } from './app.ts';
import { finishErasure } from './consistency.ts';
import { waitUntil } from './wait-until.ts';

/** Waits until maintenance has built the search dictionary from the current spaces. */
export async function waitForDictionary({ context }: Pick<TestApp, 'context'>): Promise<void> {
  const { searchIndex } = context.engine;
  const { db } = searchIndex;
  const isCurrent = async () => {
    await searchIndex.update();
    const { built_revision, revision } = await db
      .selectFrom(['dictionary', 'search_revision'])
      .select(['built_revision', 'value as revision'])
      .executeTakeFirstOrThrow();
    return built_revision >= revision;
  };
  await waitUntil('the dictionary is current', isCurrent, 60_000);
}

/** Builds the search dictionary from the current spaces of an application without maintenance, which pauses before. */
export async function buildDictionary({ context }: Pick<TestApp, 'context'>): Promise<void> {
  const { engine } = context;
  await finishErasure(engine);
  await engine.searchIndex.update();
  if (!(await refreshDictionary(engine.searchIndex.engine))) {
    throw new Error('The word index contains words of deleted spaces.');
  }
}
