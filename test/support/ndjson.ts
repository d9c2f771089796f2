/** Yields the lines of an import: strings unchanged, other records as JSON. */
export async function* toLines(records: Iterable<object | string>): AsyncIterable<string> {
  for (const each of records) yield typeof each === 'string' ? each : JSON.stringify(each);
}

/** Returns the content of a file to import. */
export function toNdjson(records: Iterable<object>): string {
  return Array.from(records, (record) => `${JSON.stringify(record)}\n`).join('');
}
