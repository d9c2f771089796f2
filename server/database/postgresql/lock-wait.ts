export const REPORT_INTERVAL_MS = 10_000;

/** Settles like `lock`. Until then, calls `report` every ten seconds. */
export async function reportWait<T>(lock: Promise<T>, report: () => void): Promise<T> {
  const timer = setInterval(report, REPORT_INTERVAL_MS);
  try {
    return await lock;
  } finally {
    clearInterval(timer);
  }
}
