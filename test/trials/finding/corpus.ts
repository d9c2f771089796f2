import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Participants of the most downloaded package. */
export const MAX_PARTICIPANTS = 2_000;
/** Number of users who participate in the spaces. */
export const USERS = 5_000;
/** Coprime with `USERS`, so that no user is chosen twice for a space. */
const USER_STRIDE = 1_237;

const MAX_TITLE_LENGTH = 120;
const MAX_DESCRIPTION_LENGTH = 500;
const START_TIME = Date.UTC(2020, 0, 1);
const MINUTE_MS = 60_000;

interface Package {
  name: string;
  /** 0 or NaN if the list does not contain it. */
  downloads: number;
  summary: string;
}

/**
 * Yields the records of a package list in the export format, as lines without line breaks. Each package becomes a
 * public space with its name as the title and its summary as the description. The file is read twice, line by line.
 * @param file tab-separated, with a header line that names the columns `name`, `downloads…` and `summary…`
 */
export async function* convertPackages(file: string): AsyncGenerator<string> {
  const participantsOf = await scaleDownloads(file);
  for (let user = 0; user < USERS; user += 1) {
    yield JSON.stringify({
      type: 'user',
      user_id: `u${user}`,
      username: `user ${user}`,
      email: `user-${user}@example.org`,
      created_at: timeOf(0),
    });
  }
  let row = 0;
  for await (const { name, downloads, summary } of readPackages(file)) {
    row += 1;
    const space_id = `s${row}`;
    yield JSON.stringify({
      type: 'space',
      space_id,
      creator_id: `u${row % USERS}`,
      title: truncate(name, MAX_TITLE_LENGTH),
      description: truncate(summary, MAX_DESCRIPTION_LENGTH),
      created_at: timeOf(row),
    });
    // The creator is the first participant.
    const participants = participantsOf(downloads);
    for (let i = 1; i < participants; i += 1) {
      const user_id = `u${(row + i * USER_STRIDE) % USERS}`;
      yield JSON.stringify({ type: 'participant', space_id, user_id, joined_at: timeOf(row) });
    }
  }
}

/**
 * Returns a function from downloads to participants. The logarithm of the participants is proportional to the
 * logarithm of the downloads: 1 for the fewest downloads of the file or none, `MAX_PARTICIPANTS` for the most.
 */
async function scaleDownloads(file: string): Promise<(downloads: number) => number> {
  let fewest = Number.POSITIVE_INFINITY;
  let most = 1;
  for await (const { downloads } of readPackages(file)) {
    if (!(downloads > 0)) continue;
    fewest = Math.min(fewest, downloads);
    most = Math.max(most, downloads);
  }
  if (most <= fewest) return () => 1;
  const exponent = Math.log(MAX_PARTICIPANTS) / Math.log(most / fewest);
  return (downloads) => (downloads > 0 ? Math.round((downloads / fewest) ** exponent) : 1);
}

async function* readPackages(file: string): AsyncGenerator<Package> {
  let columns: { name: number; downloads: number; summary: number } | undefined;
  for await (const line of readLines(file)) {
    const cells = line.split('\t');
    if (!columns) {
      const columnOf = (title: string) => cells.findIndex((cell) => cell.startsWith(title));
      columns = {
        name: cells.indexOf('name'),
        downloads: columnOf('downloads'),
        summary: columnOf('summary'),
      };
      if (Object.values(columns).includes(-1)) {
        throw new Error(`${file} needs a header line with name, downloads and summary: ${line}`);
      }
      continue;
    }
    const name = toSingleLine(cells[columns.name]);
    if (name === '') continue;
    yield {
      name,
      downloads: Number(cells[columns.downloads]),
      summary: toSingleLine(cells[columns.summary]),
    };
  }
}

/** Yields lines separated by LF or CRLF. Node's readline would also split at U+2028, which summaries may contain. */
export async function* readLines(file: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const lines = (rest + chunk).split(/\r?\n/);
    rest = lines.pop() as string;
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** Replaces control characters and line separators, which the service rejects in titles. */
function toSingleLine(text = ''): string {
  return text
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

/** Shortens a text to a number of code points. */
function truncate(text: string, length: number): string {
  return text.length <= length ? text : [...text].slice(0, length).join('').trim();
}

function timeOf(row: number): string {
  return new Date(START_TIME + row * MINUTE_MS).toISOString();
}

/** Returns the records as a stream of lines, in chunks of about 64 kB. */
export function streamPackages(file: string): Readable {
  return Readable.from(chunkLines(convertPackages(file)));
}

async function* chunkLines(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = '';
  for await (const line of lines) {
    chunk += `${line}\n`;
    if (chunk.length >= 65_536) {
      yield chunk;
      chunk = '';
    }
  }
  if (chunk !== '') yield chunk;
}

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  if (file === undefined) {
    console.error('Usage: npx node test/trials/finding/corpus.ts FILE.tsv > FILE.ndjson');
    process.exit(1);
  }
  await pipeline(streamPackages(file), process.stdout);
}
