import { registerHooks } from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { plantFaults } from './faults.ts';

// Starts the server with all faults in its source text, of which at most one is planted at a time. Messages of the
// parent process plant a fault, or ask which faults the server has reached since the last such message.

/** The number of a fault that is planted while the server starts. */
let planted = Number(process.argv[2]);
const reached = new Set<number>();
Object.assign(globalThis, {
  isPlanted(number: number) {
    reached.add(number);
    return number === planted;
  },
});

const { sources } = plantFaults();
registerHooks({
  load(url, context, nextLoad) {
    const file = url.startsWith('file:') ? relative(process.cwd(), fileURLToPath(url)) : '';
    const source = sources.get(file);
    if (source !== undefined) return { format: 'module-typescript', shortCircuit: true, source };
    const loaded = nextLoad(url, context);
    if (file !== 'server/database/prepared.ts') return loaded;
    // Compiled queries would keep the fault that was planted when they ran for the first time.
    return { ...loaded, source: String(loaded.source).replace('if (!query)', 'if (true)') };
  },
});

const { startApp } = await import('../../support/app.ts');
const { reduceHashingCost } = await import('../../support/hashing-cost.ts');
reduceHashingCost();
const { url } = await startApp();
process.on('message', (message: { plant?: number }) => {
  if (message.plant !== undefined) planted = message.plant;
  process.send?.({ reached: [...reached] });
  reached.clear();
});
process.on('disconnect', () => process.exit());
process.send?.({ url, reached: [...reached] });
reached.clear();
