import { type QueryWord, queryWords } from '../../text/words/query.ts';
import { segmentUnspaced } from '../../text/words/tokenize.ts';
import { type Dictionary, documentsWith, documentsWithPrefix } from '../dictionary/dictionary.ts';
import { MIN_FREQUENCY_RATIO } from './corrections.ts';

/** Minimum length of both parts of a split word. */
const MIN_PART_LENGTH = 2;

/** Returns a word split into known words, separated by spaces. Returns an empty list if there is no such split. */
export function splitWord(dictionary: Dictionary, word: QueryWord): string[] {
  return word.isUnspaced ? segmentRun(word) : splitCompound(dictionary, word);
}

/** Splits a word in two. Chooses the split whose rarer part is most frequent. */
function splitCompound(dictionary: Dictionary, { word, anyOf }: QueryWord): string[] {
  // A word that was typed in parts already matches in parts.
  if (anyOf.length > 1) return [];
  const minDocuments = Math.max(
    dictionary.minDocuments,
    documentsWithPrefix(dictionary, word) * MIN_FREQUENCY_RATIO,
  );
  let best: { parts: string; documents: number } | undefined;
  for (let i = MIN_PART_LENGTH; i <= word.length - MIN_PART_LENGTH; i += 1) {
    const left = word.slice(0, i);
    const right = word.slice(i);
    const documents = Math.min(documentsWith(dictionary, left), documentsWith(dictionary, right));
    if (documents >= minDocuments && documents > (best?.documents ?? 0)) {
      best = { parts: `${left} ${right}`, documents };
    }
  }
  return best ? [best.parts] : [];
}

/**
 * Splits a run of a script written without spaces. Omits words that `queryWords` would ignore, so that the header
 * `Answered-Query` has only words that are searched.
 */
function segmentRun({ word }: QueryWord): string[] {
  const parts = segmentUnspaced(word);
  if (parts.length === 1) return [];
  const searched = queryWords(parts.join(' '));
  return [searched.map((part) => part.word).join(' ')];
}
