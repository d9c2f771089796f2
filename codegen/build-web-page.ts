import { existsSync } from 'node:fs';

// Builds the web page that `npm run demo` serves.
const vite = await import('vite').catch((error: NodeJS.ErrnoException) => {
  // Installed with `npm ci --omit=dev`.
  if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
  throw error;
});
if (vite) await vite.build({ root: 'examples/web', logLevel: 'warn' }).catch(explain);
else console.log('The demo starts without its web page, because Vite is not installed.');

/** Prints the error of a system call, such as EACCES in a folder of another user. Throws all other errors. */
function explain(error: Error): void {
  const [reason] = /\bE[A-Z]{3,}: .*, [a-z]+ '.*/.exec(error.message) ?? [];
  if (reason === undefined) throw error;
  const hasPage = existsSync('examples/web/dist/index.html');
  const effect = hasPage ? 'with the web page of an earlier build' : 'without its web page';
  console.log(`The demo starts ${effect}, because the build failed: ${reason}`);
}
