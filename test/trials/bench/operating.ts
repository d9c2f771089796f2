import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { residentBytes } from '../../support/process-usage.ts';
import { type Server, startServer } from '../../support/server.ts';
import { median, rangeOf } from '../../support/statistics.ts';
import { mixedRecords } from './data.ts';
import { importRecords } from './database.ts';
import type { Effort } from './effort.ts';
import { type Figure, formatNumber, formatSpaces } from './report.ts';

/** Times `npm run import` of a typical export into an empty database, including the start of the command. */
export async function measureImport(effort: Effort): Promise<Figure> {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-import-'));
  try {
    const lines = mixedRecords(effort.importRecords);
    const { records, seconds } = await importRecords({ DATA_DIR: folder }, lines);
    return {
      name: `import of ${records.toLocaleString('en')} mixed records`,
      ours: `${formatNumber(seconds)} s`,
      reference: '',
      value: records / seconds,
      unit: 'records/s',
      target: { min: 20_000 },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Times a start with an existing database, from the start of the process to the first 200 from `/readyz`. */
export async function measureStart(
  dataDir: string,
  spaces: number,
  { rounds }: Effort,
): Promise<Figure> {
  const seconds: number[] = [];
  for (let i = 0; i < rounds; i += 1) {
    const before = performance.now();
    await using server = await startServer({ DATA_DIR: dataDir });
    seconds.push((performance.now() - before) / 1000);
    await server.stop();
  }
  return {
    name: `start to ready, ${formatSpaces(spaces)} spaces`,
    ours: `${formatNumber(median(seconds))} s`,
    reference: '',
    value: median(seconds),
    unit: 's',
    spread: rangeOf(seconds),
    target: { max: 1 },
  };
}

/** Samples the resident memory of a server until the watch is stopped or disposed of. */
export function watchMemory({ child }: Server): Disposable & { stop: () => Figure } {
  const samples: number[] = [];
  const timer = setInterval(() => samples.push(residentBytes(child.pid as number)), 250);
  return {
    [Symbol.dispose]: () => clearInterval(timer),
    stop() {
      clearInterval(timer);
      const megabytes = samples.map((bytes) => bytes / 1e6);
      return {
        name: 'memory of the process under load, maximum',
        ours: `${formatNumber(Math.max(...megabytes))} MB`,
        reference: '',
        value: Math.max(...megabytes),
        unit: 'MB',
        spread: rangeOf(megabytes),
        target: { max: 350 },
      };
    },
  };
}
