import { parseArgs } from 'node:util';
import { indexWords } from '../../../server/text/words/tokenize.ts';
import { quantile } from '../../support/statistics.ts';
import { readLines } from '../finding/corpus.ts';
import { type Text, textOf } from './data.ts';
import { rangeOfPrefix } from './sorted-words.ts';

const USAGE = `Compares a list of real titles and descriptions with the same number of generated ones.

  npx node test/trials/bench/resemblance.ts FILE [--title COLUMN] [--description COLUMN]

FILE has tab-separated columns, with their names in the first line. COLUMN defaults to "name" and "summary".
`;

/** Number of words that count as frequent. */
const FREQUENT_WORDS = 1_000;
/** Minimum length of frequent words, because the search does not correct shorter ones. */
const MIN_LETTERS = 4;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    title: { type: 'string', default: 'name' },
    description: { type: 'string', default: 'summary' },
  },
});
const [file] = positionals;
if (file === undefined) {
  console.error(USAGE);
  process.exit(2);
}

const real = await readTexts(file, values.title, values.description);
const generated = real.map((_, number) => textOf(number));
const columns = [measure(real), measure(generated)];
console.log('| | list | generated |\n|---|---|---|');
for (const name of Object.keys(columns[0] as object)) {
  console.log(`| ${[name, ...columns.map((column) => column[name])].join(' | ')} |`);
}

async function readTexts(
  path: string,
  titleName: string,
  descriptionName: string,
): Promise<Text[]> {
  const texts: Text[] = [];
  let columns: [number, number] | undefined;
  for await (const line of readLines(path)) {
    const cells = line.split('\t');
    if (columns) {
      texts.push({ title: cells[columns[0]] ?? '', description: cells[columns[1]] ?? '' });
      continue;
    }
    columns = [cells.indexOf(titleName), cells.indexOf(descriptionName)];
    if (columns.includes(-1)) {
      throw new Error(`${path} has no columns "${titleName}" and "${descriptionName}".`);
    }
  }
  return texts;
}

/** Returns figures by name. Words are split as in the search index. */
function measure(texts: readonly Text[]): Record<string, string> {
  const wordsOfTexts = texts.map(wordsOf);
  const documents = new Map<string, number>();
  for (const word of wordsOfTexts.flatMap((words) => [...words])) {
    documents.set(word, (documents.get(word) ?? 0) + 1);
  }
  const byFrequency = [...documents].sort((a, b) => b[1] - a[1]);
  const counts = byFrequency.map(([, count]) => count);
  const frequent = byFrequency
    .map(([word]) => word)
    .filter((word) => word.length >= MIN_LETTERS && /^\p{L}+$/v.test(word))
    .slice(0, FREQUENT_WORDS);
  const sorted = [...documents.keys()].sort();
  const lettersOfWords = sorted.map(({ length }) => length);
  const beginning = frequent.slice(0, 100).map((word) => countWordsWithPrefix(sorted, word));
  const everySecondText = wordsOfTexts.filter((_, i) => i % 2 === 0);
  return {
    texts: whole(texts.length),
    'distinct words': whole(documents.size),
    'distinct words in every second text': whole(
      new Set(everySecondText.flatMap((words) => [...words])).size,
    ),
    'words in one text': whole(counts.filter((count) => count === 1).length),
    'words in two texts': whole(counts.filter((count) => count === 2).length),
    'words in 50 texts or more': whole(counts.filter((count) => count >= 50).length),
    'words with a digit': percent(
      sorted.filter((word) => /\p{N}/v.test(word)).length,
      sorted.length,
    ),
    'letters of a word, median and p99': quantiles(lettersOfWords, [0.5, 0.99]),
    'words of a text, median and p99': quantiles(
      wordsOfTexts.map(({ size }) => size),
      [0.5, 0.99],
    ),
    'the 100 most frequent words, of all words of all texts': percent(
      sum(counts.slice(0, 100)),
      sum(counts),
    ),
    ...Object.fromEntries(
      [1, 10, 100, 1_000, 10_000].map((rank) => [
        `texts with the word of rank ${whole(rank)}`,
        percent(counts[rank - 1] ?? 0, texts.length),
      ]),
    ),
    [`words one edit away from one of the ${whole(FREQUENT_WORDS)} most frequent`]: whole(
      countNeighbours(frequent, sorted),
    ),
    'words beginning with one of the 100 most frequent, median and most': quantiles(
      beginning,
      [0.5, 1],
    ),
    ...measureScripts(texts),
  };
}

function measureScripts(texts: readonly Text[]): Record<string, string> {
  const counts = { letters: 0, otherLetters: 0, otherTexts: 0, emojiTexts: 0 };
  for (const { title, description } of texts) {
    const text = `${title} ${description}`;
    const others = text.match(/[\p{L}--\p{sc=Latn}]/gv)?.length ?? 0;
    counts.letters += text.match(/\p{L}/gv)?.length ?? 0;
    counts.otherLetters += others;
    if (others > 0) counts.otherTexts += 1;
    if (/[\p{ExtPict}--[©®™]]/v.test(text)) counts.emojiTexts += 1;
  }
  return {
    'letters that are not Latin': percent(counts.otherLetters, counts.letters),
    'texts with such letters': percent(counts.otherTexts, texts.length),
    'texts with emoji': percent(counts.emojiTexts, texts.length),
  };
}

function wordsOf({ title, description }: Text): Set<string> {
  return new Set([...indexWords(title), ...indexWords(description)]);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

function whole(number: number): string {
  return number.toLocaleString('en');
}

function percent(part: number, of: number): string {
  return `${Number(((100 * part) / of).toPrecision(2))} %`;
}

/** Returns the quantiles of the numbers at probabilities from 0 to 1. */
function quantiles(numbers: readonly number[], probabilities: readonly number[]): string {
  return probabilities.map((each) => whole(quantile(numbers, each))).join(', ');
}

function countWordsWithPrefix(sorted: readonly string[], prefix: string): number {
  const [from, to] = rangeOfPrefix(sorted, prefix);
  return to - from;
}

/** Returns the number of words one insertion, deletion, substitution or transposition away from a frequent one. */
function countNeighbours(frequent: readonly string[], words: readonly string[]): number {
  // Two words with an edit distance of 1 have a common form with at most one deleted letter.
  const byForm = new Map<string, string[]>();
  for (const word of frequent) {
    for (const form of forms(word)) byForm.set(form, [...(byForm.get(form) ?? []), word]);
  }
  return words.filter((word) =>
    forms(word).some((form) => byForm.get(form)?.some((other) => isOneEdit(word, other))),
  ).length;
}

function forms(word: string): string[] {
  return [word, ...Array.from(word, (_, i) => word.slice(0, i) + word.slice(i + 1))];
}

function isOneEdit(a: string, b: string): boolean {
  if (a === b) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  return (
    (left.length <= 1 && right.length <= 1) ||
    (left.length === 2 && left === right.charAt(1) + right.charAt(0) && right.length === 2)
  );
}
