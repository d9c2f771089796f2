/** Returns a function that looks up a series, such as `queue_length{queue="writers"}`; a missing series is NaN. */
export function parseMetrics(text: string): (series: string) => number {
  const lines = text.split('\n');
  return (series) => {
    const line = lines.find((each) => each.startsWith(`${series} `));
    return Number(line?.split(' ').at(-1));
  };
}
