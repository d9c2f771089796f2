/** The label `instance` of the applications and servers that tests start. */
export const INSTANCE = 'tests';

/**
 * Returns a function that looks up a series of this instance, such as `space_service_queue_length{queue="writers"}`. A
 * missing series is NaN.
 */
export function parseMetrics(text: string): (series: string) => number {
  const values = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', value] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
    values.set(nameOfSeries(name, labels), Number(value));
  }
  return (series) => {
    const [, name = '', labels] = /^(\w+)(?:\{(.*)\})?$/.exec(series) ?? [];
    const own = `instance="${INSTANCE}"`;
    return values.get(nameOfSeries(name, labels ? `${labels},${own}` : own)) ?? Number.NaN;
  };
}

/** The order of labels has no meaning. */
function nameOfSeries(name: string, labels: string): string {
  return `${name}{${labels.split(',').sort().join()}}`;
}
