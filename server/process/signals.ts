/** Calls `stop` on the first SIGTERM or SIGINT. Then exits with the code that `stop` returns. */
export function stopOnSignal(stop: (signal: string) => Promise<number>): void {
  let isStopping = false;
  const handle = async (signal: string) => {
    // Ctrl+C causes two signals: one from the terminal and one from npm.
    if (isStopping) return;
    isStopping = true;
    process.exit(await stop(signal));
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}
