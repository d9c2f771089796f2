/** Returns whether the other query of a search has the same words. Then its results match only some of them. */
export function hasSameWords(query: string, answeredQuery: string): boolean {
  return foldWords(query) === foldWords(answeredQuery);
}

/** Returns the words in lower case, without accents and punctuation. */
function foldWords(text: string): string {
  const folded = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return (folded.match(/[\p{L}\p{N}]+/gu) ?? []).join(' ');
}
