import type { InvalidValueCode } from '../../generated/problem-codes.gen.ts';
import { DomainError } from '../errors.ts';
import { CONTROLS_EXCEPT_LINE_FEED, countCodePoints } from '../text/characters.ts';

/** Extended grapheme clusters (UAX 29), which people perceive as characters. */
export const MAX_GRAPHEMES = 500;
/** A second limit, because a single grapheme can have any number of marks. */
const MAX_CODE_POINTS = 2000;

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Returns the bio with `\r\n` replaced by `\n`, and otherwise unchanged. An empty bio is valid.
 * @throws DomainError `bio_invalid`
 */
export function parseBio(text: string): string {
  const bio = text.replaceAll('\r\n', '\n');
  if (!bio.isWellFormed() || CONTROLS_EXCEPT_LINE_FEED.test(bio)) {
    throw bioInvalid(
      'forbidden_characters',
      'The bio contains control characters or unpaired surrogates. The only control characters accepted are line breaks.',
      'must be well-formed text without control characters other than line breaks',
    );
  }
  const codePoints = countCodePoints(bio);
  if (codePoints > MAX_CODE_POINTS) {
    throw bioInvalid(
      'too_long',
      `A bio has at most 2,000 Unicode code points, including combining marks and parts of emoji. This one has ${codePoints.toLocaleString('en')}.`,
      'must have at most 2,000 code points',
    );
  }
  const graphemes = Array.from(GRAPHEMES.segment(bio)).length;
  if (graphemes > MAX_GRAPHEMES) {
    throw bioInvalid(
      'too_long',
      `A bio has at most ${MAX_GRAPHEMES} characters. This one has ${graphemes.toLocaleString('en')}.`,
      `must have at most ${MAX_GRAPHEMES} characters`,
    );
  }
  return bio;
}

function bioInvalid(code: InvalidValueCode, detail: string, message: string): DomainError {
  return new DomainError('bio_invalid', detail, [{ pointer: '/bio', code, message }]);
}
