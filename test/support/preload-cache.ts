/**
 * Node.js options that let the threads of the service load compiled modules, as `npm start` does. Without them, each
 * thread strips the types of its modules in WebAssembly. This takes a tenth of the processor time of a test run, and V8
 * is reported to crash if several threads do so.
 */
export const PRELOAD_CACHE = [
  '--import',
  new URL('../../server/process/compile-cache.js', import.meta.url).href,
];
