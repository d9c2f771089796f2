// Builds the web page that `npm run demo` serves.
const vite = await import('vite').catch((error: NodeJS.ErrnoException) => {
  // Installed with `npm ci --omit=dev`.
  if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
  throw error;
});
if (vite) await vite.build({ root: 'examples/web', logLevel: 'warn' });
else console.log('The demo starts without its web page, because Vite is not installed.');
