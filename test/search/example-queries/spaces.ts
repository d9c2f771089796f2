import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** A space of `spaces.yaml`. */
export interface ExampleSpace {
  title: string;
  description?: string;
  tags?: string[];
  visibility?: 'public' | 'private';
  /** Number of participants, including the creator. */
  participants?: number;
  /** Number of equal spaces. */
  copies?: number;
}

export const exampleSpaces: readonly ExampleSpace[] = parse(
  readFileSync(new URL('spaces.yaml', import.meta.url), 'utf8'),
);
