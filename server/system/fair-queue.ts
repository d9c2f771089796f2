import type { Sender } from './senders.ts';

/** The items of an account. */
interface AccountLine<T> {
  /** How much it has used, and never less than the virtual time at which it began to wait. */
  used: number;
  /** In the order of their requests. */
  items: { request: number; item: T }[];
}

/** The items of a network. */
interface NetworkLine<T> {
  used: number;
  size: number;
  virtualTime: number;
  accounts: Map<string, AccountLine<T>>;
}

/**
 * A queue in which networks take turns, and within a network its accounts. The next item is from the network that has
 * used least, in any unit, so a network with thousands of items does not delay one with a single item.
 *
 * This is start-time fair queueing (Goyal, Vin and Cheng, 1996) in two levels. The virtual time is what the network of
 * the last item had used. A network that begins to wait starts there, so that idle time earns no credit.
 */
export class FairQueue<T> {
  readonly #networks = new Map<string, NetworkLine<T>>();
  #virtualTime = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add({ network, account, request }: Sender, item: T): void {
    const line = this.#networks.get(network) ?? {
      used: 0,
      size: 0,
      virtualTime: 0,
      accounts: new Map<string, AccountLine<T>>(),
    };
    this.#networks.set(network, line);
    const { accounts, virtualTime } = line;
    const { used, items } = accounts.get(account) ?? { used: 0, items: [] };
    if (line.size === 0) line.used = Math.max(line.used, this.#virtualTime);
    accounts.set(account, {
      used: items.length === 0 ? Math.max(used, virtualTime) : used,
      items,
    });
    let index = items.length;
    while (index > 0 && (items[index - 1]?.request as number) > request) index -= 1;
    items.splice(index, 0, { request, item });
    line.size += 1;
    this.#size += 1;
  }

  /** Does nothing if the item is not in the queue. */
  remove({ network, account }: Sender, item: T): void {
    const line = this.#networks.get(network);
    const items = line?.accounts.get(account)?.items ?? [];
    const index = items.findIndex((each) => each.item === item);
    if (!line || index === -1) return;
    items.splice(index, 1);
    line.size -= 1;
    this.#size -= 1;
    const used = line.accounts.get(account)?.used ?? 0;
    if (items.length === 0 && used <= line.virtualTime) line.accounts.delete(account);
    if (line.size === 0 && line.used <= this.#virtualTime) this.#networks.delete(network);
  }

  /**
   * Removes and returns the next item.
   * @param mayTake whether items of a network may be returned
   */
  next(mayTake: (network: string) => boolean = () => true): T | undefined {
    const line = leastUsed(this.#networks, this.#virtualTime, ({ size }) => size > 0, mayTake);
    if (!line) return undefined;
    const account = leastUsed(line.accounts, line.virtualTime, ({ items }) => items.length > 0);
    this.#virtualTime = Math.max(this.#virtualTime, line.used);
    line.virtualTime = Math.max(line.virtualTime, account?.used ?? 0);
    line.size -= 1;
    this.#size -= 1;
    return account?.items.shift()?.item;
  }

  /** Records what a sender has used. */
  charge({ network, account }: Sender, used: number): void {
    // Resets all usage when the queue is empty.
    if (this.#size === 0) {
      this.#networks.clear();
      return;
    }
    const line = this.#networks.get(network);
    if (line) line.used += used;
    const accountLine = line?.accounts.get(account);
    if (accountLine) accountLine.used += used;
  }

  /** Returns the items of the account with the most items in the network with the most items, oldest first. */
  longestLine(): T[] {
    const line = longest(this.#networks.values(), ({ size }) => size);
    const items = longest(line?.accounts.values() ?? [], ({ items }) => items.length)?.items;
    return items?.map(({ item }) => item) ?? [];
  }
}

/** Returns the line with items that has used least. Deletes lines without items that have used no more than others. */
function leastUsed<Line extends { used: number }>(
  lines: Map<string, Line>,
  virtualTime: number,
  hasItems: (line: Line) => boolean,
  mayTake: (key: string) => boolean = () => true,
): Line | undefined {
  let least: Line | undefined;
  for (const [key, line] of lines) {
    if (!hasItems(line)) {
      if (line.used <= virtualTime) lines.delete(key);
    } else if ((!least || line.used < least.used) && mayTake(key)) least = line;
  }
  return least;
}

function longest<Line>(lines: Iterable<Line>, lengthOf: (line: Line) => number): Line | undefined {
  let longest: Line | undefined;
  for (const line of lines) if (!longest || lengthOf(line) > lengthOf(longest)) longest = line;
  return longest;
}
