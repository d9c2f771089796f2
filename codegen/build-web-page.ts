// Builds the web page that `npm run demo` serves.
try {
  const { build } = await import('vite');
  await build({ root: 'examples/web', logLevel: 'warn' });
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
  // Installed with `npm ci --omit=dev`.
  console.log('The demo starts without its web page, because Vite is not installed.');
}
