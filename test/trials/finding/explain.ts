import { avatarUrls } from '../../../server/avatars/store.ts';
import { openDatabase } from '../../../server/database/open.ts';
import { readDictionary } from '../../../server/search/dictionary/dictionary.ts';
import type { Interpretation } from '../../../server/search/interpretation.ts';
import { searchText } from '../../../server/search/text-search.ts';
import { readIndex } from '../../../server/search/view.ts';

const MAX_RESULTS = 10;

/** Prints the interpretations of a query that the first page tries, and the titles of the results of each. */
export async function explain(dataDir: string, query: string): Promise<void> {
  await using engine = await openDatabase(
    { dataDir, databaseUrl: null },
    { runsMaintenance: false },
  );
  const dictionary = await readDictionary(engine.searchIndex);
  const resources = { engine, avatars: avatarUrls('http://127.0.0.1/avatars') };
  const text = { query, asTyped: false };
  await readIndex(engine, (view) =>
    searchText(resources, dictionary, text, { limit: MAX_RESULTS }, view, (rung, read) => {
      console.log(describe(rung));
      for (const { result } of read.hits.slice(0, MAX_RESULTS)) {
        console.log(`  ${JSON.parse(result).title}`);
      }
      if (read.hits.length === 0) console.log('  no results');
      if (read.resumeAfter !== null) console.log('  and maybe more: the budget is spent');
    }),
  );
}

/** Example: `(sourdough | sourduogh) [with] bread` */
function describe({ words, optional, missing }: Interpretation): string {
  const parts = words.map(([texts, forms], i) => {
    const all = [...texts, ...forms].join(' | ');
    if (optional.includes(i)) return `[${all}]`;
    return texts.length + forms.length > 1 ? `(${all})` : all;
  });
  return `${parts.join(' ')}${missing > 0 ? `, ${missing} may be missing` : ''}`;
}
