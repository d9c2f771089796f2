/**
 * Waits until all work has ended. Calls `stop` when the first has, so that the rest can end, too.
 * @throws the first error in the order of the work
 */
export async function runTogether(work: readonly Promise<unknown>[], stop: () => void) {
  const results = await Promise.allSettled(work.map((each) => each.finally(stop)));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
