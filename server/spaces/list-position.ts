import type { Commits } from '../database/engine.ts';
import { decodeSnapshot, encodeSnapshot } from '../database/snapshot.ts';
import type { Position } from '../pagination.ts';

const DAY_MS = 24 * 60 * 60_000;

/** How long the ends of participations in deleted spaces are kept: seven days after the day in a state. */
export const KEPT_MS = 8 * DAY_MS;

/** Longer ones show less, so that changes are repeated. */
const MAX_SNAPSHOT_CHARACTERS = 500;

/** A state of the database that a reader knows. */
interface State extends Commits {
  /** Number of days since 1970. Not more precise, so that equal pages have equal cursors. */
  day: number;
}

/** What a reader knows of a list. */
export interface ListPosition {
  /** All changes that this state shows. */
  since: State;
  /** If it has read only a part of the later ones: the state that it will know then, and the last one that it has read. */
  part?: { until: State; last: ChangeKey };
}

/** The place of a change in the order of changes. */
export type ChangeKey = readonly [transaction: number, spacePk: number];

/** Returns the position of a reader who knows the present state. */
export function positionAt(commits: Commits): ListPosition {
  return { since: { ...commits, day: Math.floor(Date.now() / DAY_MS) } };
}

/** Returns whether a reader can learn of all changes, up to the present state. */
export function areChangesKnown({ since, part }: ListPosition, now: Commits): boolean {
  const { epoch, snapshot } = part?.until ?? since;
  return (
    since.day * DAY_MS >= Date.now() - KEPT_MS &&
    [since.epoch, epoch].every((each) => each === now.epoch) &&
    snapshot.end <= now.snapshot.end
  );
}

export function compareKeys([a, aSpace]: ChangeKey, [b, bSpace]: ChangeKey): number {
  return a - b || aSpace - bSpace;
}

/** Returns the values of a cursor. */
export function toCursor({ since, part }: ListPosition): Position {
  return part ? [encode(since), encode(part.until), part.last] : [encode(since)];
}

/** Returns the position that `toCursor` has converted. */
export function fromCursor(values: Position): ListPosition {
  const [since, until, last] = values as [EncodedState, EncodedState, ChangeKey];
  return { since: decode(since), ...(until && { part: { until: decode(until), last } }) };
}

type EncodedState = [day: number, epoch: string, ...snapshot: ReturnType<typeof encodeSnapshot>];

function encode({ day, epoch, snapshot }: State): EncodedState {
  return [day, epoch, ...encodeSnapshot(snapshot, MAX_SNAPSHOT_CHARACTERS)];
}

function decode([day, epoch, ...snapshot]: EncodedState): State {
  return { day, epoch, snapshot: decodeSnapshot(snapshot) };
}
