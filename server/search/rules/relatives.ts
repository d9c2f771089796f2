import { type Dictionary, hasManyMatches } from '../dictionary/dictionary.ts';
import { type Alternative, type Interpretation, interpretWithForms } from '../interpretation.ts';
import { AGENT_NOUN, similarForms, stemOf } from './other-forms.ts';
import { isStopWord } from './stop-words.ts';

/** Long enough for `validations`, which begins with the stem of `validator`. */
const MAX_ENDING_LENGTH = 7;

const MAX_RELATIVES = 5;

/** Returns an interpretation in which the relatives of each word match, too: `validation` for `validator`. */
export function withRelatives(
  dictionary: Dictionary,
  words: readonly Alternative[],
): Interpretation | undefined {
  return interpretWithForms('relatives', words, (word) => relativesOf(dictionary, word));
}

/** Returns the most frequent words of the same English family as a word: those for an action, its agent and its result. */
function relativesOf(dictionary: Dictionary, word: string): string[] {
  if (isStopWord(word) || hasManyMatches(dictionary, word)) return [];
  const stems = stemsOf(word);
  const documents = new Map<string, number>();
  for (const stem of stems) {
    for (const similar of similarForms(dictionary, word, stem, MAX_ENDING_LENGTH)) {
      if (stemsOf(similar.form).some((each) => stems.includes(each)))
        documents.set(similar.form, similar.documents);
    }
  }
  return [...documents]
    .sort(([a, aDocuments], [b, bDocuments]) => bDocuments - aDocuments || (a < b ? -1 : 1))
    .slice(0, MAX_RELATIVES)
    .map(([form]) => form);
}

/** Returns the stem of a word, and that of the verb if it may be an agent noun: `logger` is a relative of `logging`. */
function stemsOf(word: string): string[] {
  const verb = AGENT_NOUN.test(word) ? word.replace(AGENT_NOUN, '').replace(/i$/, 'y') : '';
  return [word, ...(verb ? [`${verb}ing`] : [])].flatMap((each) => {
    const stem = stemOf(each);
    // The stem of `compress` is `compress`, but that of `compression` is `compres`.
    return stem === undefined ? [] : [stem.replace(/(.)\1$/, '$1')];
  });
}
