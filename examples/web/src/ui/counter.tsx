import { quantity } from '../words.ts';

/** A number of characters that are left. Below it, the reader should know. */
const NEAR = 50;

const graphemes = new Intl.Segmenter();

export interface Limit {
  max: number;
  /** What the service counts as a character; by default a code point. */
  unit?: 'grapheme';
}

/** Returns how many more characters a text may have; negative if it is too long. */
export function charactersLeft(text: string, { max, unit }: Limit): number {
  return max - [...(unit ? graphemes.segment(text) : text)].length;
}

/** Shows how many characters are left, when it matters. Refer to it in `aria-describedby` of the field. */
export function Counter({ id, left, max }: { id: string; left: number; max: number }) {
  if (left > Math.min(NEAR, max / 5)) return null;
  return (
    <p id={id} className={left < 0 ? 'field-error' : 'hint'}>
      {left < 0
        ? `${quantity(-left, 'character')} too many`
        : `${quantity(left, 'character')} left`}
    </p>
  );
}
