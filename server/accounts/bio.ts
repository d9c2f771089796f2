import { DomainError } from '../errors.ts';

/** In characters as people count them: extended grapheme clusters (UAX 29). */
const MAX_GRAPHEMES = 500;
/** Because one grapheme can hold any number of marks. */
const MAX_CODE_POINTS = 2000;

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Control characters but the line break, and halves of surrogate pairs. */
const UNREADABLE = /[\p{Cc}--\n]|\p{Cs}/v;

/**
 * The bio as it is stored: with `\n` for line breaks, and otherwise as it was written. Empty clears it.
 * @throws DomainError `bio_invalid`
 */
export function parseBio(text: string): string {
  const bio = text.replaceAll('\r\n', '\n');
  if (UNREADABLE.test(bio)) {
    throw bioInvalid(
      'A bio is text in well-formed Unicode, without control characters other than line breaks.',
      'must be well-formed text without control characters other than line breaks',
    );
  }
  const codePoints = Array.from(bio).length;
  if (codePoints > MAX_CODE_POINTS) {
    throw bioInvalid(
      `A bio has at most 2,000 Unicode code points, combining marks and parts of emoji included; this one has ${codePoints.toLocaleString('en')}.`,
      'must have at most 2,000 code points',
    );
  }
  const graphemes = Array.from(GRAPHEMES.segment(bio)).length;
  if (graphemes > MAX_GRAPHEMES) {
    throw bioInvalid(
      `A bio has at most ${MAX_GRAPHEMES} characters; this one has ${graphemes.toLocaleString('en')}.`,
      `must have at most ${MAX_GRAPHEMES} characters`,
    );
  }
  return bio;
}

function bioInvalid(detail: string, message: string): DomainError {
  return new DomainError('bio_invalid', detail, [{ pointer: '/bio', message }]);
}
