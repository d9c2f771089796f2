import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { draw } from '../../support/drawing.ts';

/** Arguments of strace that record what `readDiskCalls` reads, of these files. */
export const recordDiskCalls = (trace: string, files: readonly string[]): string[] => [
  ...['-f', '-qq', '-y', '-ttt', '-T', '-xx', '-s', String(2 ** 24), '-o', trace],
  ...['-e', 'trace=write,pwrite64,writev,pwritev,ftruncate,fsync,fdatasync,unlink'],
  ...files.flatMap((file) => ['-P', file]),
];

/** A successful system call on a file, with the times of its start and end in milliseconds since 1970. */
interface DiskCall {
  kind: 'write' | 'truncate' | 'sync' | 'unlink';
  file: string;
  startedAt: number;
  endedAt: number;
  /** The first written byte, or the length after truncation. */
  offset: number;
  data: Buffer;
}

/** What a power failure keeps of the writes that have not been synced. */
export type Remains = 'nothing' | 'everything' | 'some';

/** Writes the files into a folder, as a power failure would leave them. */
export type Leave = (folder: string, remains: Remains) => Promise<void>;

/** A write is kept or lost in pieces of this size, that of a sector. */
const SECTOR_BYTES = 512;

/** A file as a power failure would leave it. */
class DiskFile {
  #synced: Buffer = Buffer.alloc(0);
  #unsynced: DiskCall[] = [];

  add(call: DiskCall): void {
    if (call.kind === 'unlink') {
      this.#synced = Buffer.alloc(0);
      this.#unsynced = [];
    } else if (call.kind === 'sync') {
      const isCovered = ({ endedAt }: DiskCall) => endedAt <= call.startedAt;
      for (const each of this.#unsynced.filter(isCovered)) this.#synced = apply(each, this.#synced);
      this.#unsynced = this.#unsynced.filter((each) => !isCovered(each));
    } else {
      this.#unsynced.push(call);
    }
  }

  contents(remains: Remains): Buffer {
    if (remains === 'nothing') return this.#synced;
    return this.#unsynced.reduce<Buffer>(
      (contents, call) => apply(remains === 'some' ? damaged(call, contents) : call, contents),
      Buffer.from(this.#synced),
    );
  }
}

/** Changes the buffer, or returns a longer or shorter one. */
function apply({ kind, offset, data }: DiskCall, contents: Buffer): Buffer {
  if (kind === 'truncate') return Buffer.from(contents.subarray(0, offset));
  const end = offset + data.length;
  const long =
    end <= contents.length
      ? contents
      : Buffer.concat([contents, Buffer.alloc(end - contents.length)]);
  data.copy(long, offset);
  return long;
}

/** Returns the call with each sector as written, as before, or zeroed. Whatever it writes to others stays as it is. */
function damaged(call: DiskCall, contents: Buffer): DiskCall {
  const { kind, offset } = call;
  if (kind === 'truncate') return Math.random() < 0.5 ? call : { ...call, offset: contents.length };
  const data = Buffer.from(call.data);
  for (let start = 0; start < data.length; start += SECTOR_BYTES) {
    const sector = data.subarray(start, start + SECTOR_BYTES);
    const fate = draw(['written', 'before', 'zeroed']);
    if (fate === 'written') continue;
    sector.fill(0);
    if (fate === 'before') sector.set(contents.subarray(offset + start).subarray(0, sector.length));
  }
  return { ...call, data };
}

/**
 * Calls `use` at each of the moments, in their order.
 * @param moments in milliseconds since 1970
 * @param isSynced returns whether a sync that ends at a time takes effect; by default, all do
 */
export async function replayDisk(
  trace: string,
  moments: readonly number[],
  use: (index: number, leave: Leave) => Promise<void>,
  isSynced: (endedAt: number) => boolean = () => true,
): Promise<void> {
  const files = new Map<string, DiskFile>();
  const leave: Leave = async (folder, remains) => {
    for (const [name, file] of files) {
      await writeFile(join(folder, basename(name)), file.contents(remains));
    }
  };
  let index = 0;
  for await (const call of readDiskCalls(trace)) {
    while (call.endedAt > (moments[index] ?? Number.POSITIVE_INFINITY)) await use(index++, leave);
    if (call.kind === 'sync' && !isSynced(call.endedAt)) continue;
    const file = files.get(call.file) ?? new DiskFile();
    file.add(call);
    files.set(call.file, file);
  }
  while (index < moments.length) await use(index++, leave);
}

/** Reads an strace log in the order of the ends of the calls. A call interrupted by another thread spans two lines. */
async function* readDiskCalls(trace: string): AsyncGenerator<DiskCall> {
  const unfinished = new Map<string, { text: string; time: number }>();
  for await (const line of createInterface({ input: createReadStream(trace) })) {
    const [, thread = '', seconds = '', rest = ''] = /^(\d+) +([\d.]+) (.*)$/.exec(line) ?? [];
    const time = Number(seconds) * 1000;
    if (rest.endsWith(' <unfinished ...>')) {
      unfinished.set(thread, { text: rest.slice(0, -' <unfinished ...>'.length), time });
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)?.[1];
    const begun = resumed === undefined ? undefined : unfinished.get(thread);
    const text = begun ? begun.text + resumed : rest;
    const [, name = '', inputs = '', result = '', duration = '0'] =
      /^(\w+)\((.*)\) += (-?\d+)[^<]*(?:<([\d.]+)>)?$/.exec(text) ?? [];
    if (name === '' || Number(result) < 0) continue;
    const startedAt = begun?.time ?? time;
    // The timestamp is the start of a call, but the end of a resumed one.
    const endedAt = begun ? time : time + Number(duration) * 1000;
    yield { ...parseCall(name, inputs), startedAt, endedAt };
  }
}

function parseCall(name: string, inputs: string): Omit<DiskCall, 'startedAt' | 'endedAt'> {
  const path = /^\d+<([^>]*)>/.exec(inputs)?.[1] ?? /"([^"]*)"/.exec(inputs)?.[1] ?? '';
  const call = { file: decode(path).toString(), offset: 0, data: Buffer.alloc(0) };
  if (name === 'unlink') return { ...call, kind: 'unlink' };
  if (name === 'fsync' || name === 'fdatasync') return { ...call, kind: 'sync' };
  const offset = Number(/(\d+)$/.exec(inputs)?.[1]);
  if (name === 'ftruncate') return { ...call, kind: 'truncate', offset };
  assert.equal(name, 'pwrite64', 'SQLite writes in another way');
  return { ...call, kind: 'write', offset, data: decode(/"([^"]*)"/.exec(inputs)?.[1] ?? '') };
}

/** Decodes a text in which each byte is written as `\xHH`. */
function decode(text: string): Buffer {
  return Buffer.from(text.replaceAll('\\x', ''), 'hex');
}
