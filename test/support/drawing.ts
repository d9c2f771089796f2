/** Returns a random item. */
export function draw<T>(items: readonly T[]): T {
  return items[Math.floor(Math.random() * items.length)] as T;
}

/** Returns a random name. The share of each name is its relative frequency. */
export function drawName<Name extends string>(shares: Readonly<Record<Name, number>>): Name {
  const entries = Object.entries(shares) as [Name, number][];
  let rest = Math.random() * entries.reduce((sum, [, share]) => sum + share, 0);
  for (const [name, share] of entries) {
    rest -= share;
    if (rest < 0) return name;
  }
  // Reached only by rounding.
  return (entries[0] as [Name, number])[0];
}

/** Adds an item to those that can be drawn. Removes the oldest one beyond `max`. */
export function remember<T>(items: T[], item: T, max: number): void {
  items.push(item);
  if (items.length > max) items.shift();
}
