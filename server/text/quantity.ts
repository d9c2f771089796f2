/** Returns a number with its noun, such as `1 byte` or `2,000 bytes`. */
export function quantity(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${plural(count, noun)}`;
}

/** Returns the form of a noun for a number. */
export function plural(count: number, singular: string, other = `${singular}s`): string {
  return count === 1 ? singular : other;
}
