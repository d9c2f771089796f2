import { reservedValues } from '../contract.ts';
import { deriveId } from './defaults.ts';

const reservedSpaceIds = reservedValues('space_id');

/** Returns a `space_id` that can be imported. Older versions imported reserved ones, which get another id. */
export function importableSpaceId(stored: string): string {
  return reservedSpaceIds.has(stored) ? deriveId('reserved', stored) : stored;
}

/**
 * Returns a time that can be imported. Older versions imported years with more than four digits, such as `+010000`, and
 * negative years. They become the nearest time with a year of four digits.
 */
export function importableTime(stored: string): string {
  if (stored.startsWith('+')) return '9999-12-31T23:59:59.999Z';
  if (stored.startsWith('-')) return '0000-01-01T00:00:00.000Z';
  return stored;
}
