declare module 'unhomoglyph' {
  /** Replaces every character with what it looks like, by the confusables of Unicode's UTS 39. */
  export default function unhomoglyph(text: string): string;
}
