/** Returns a number with its noun, such as “1 space” or “1,200 spaces”. */
export function quantity(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns the beginning of a text, which tells buttons for different messages apart. */
export function quote(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.length > 40 ? `“${[...line].slice(0, 40).join('')} …”` : `“${line}”`;
}

const dateFormat = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });
const timeFormat = new Intl.DateTimeFormat('en', { timeStyle: 'short' });

export function formatDate(date: string): string {
  return dateFormat.format(new Date(date));
}

export function formatTime(date: string): string {
  return timeFormat.format(new Date(date));
}

/** Returns a day as readers of a conversation name it. */
export function formatDay(date: string): string {
  const formatted = formatDate(date);
  if (formatted === dateFormat.format(Date.now())) return 'Today';
  return formatted === dateFormat.format(Date.now() - 86_400_000) ? 'Yesterday' : formatted;
}

/** Returns the name of the other query of a search. If it has the same words, its results match only some of them. */
export function describeOther(query: string, other: string, name = other): string {
  return foldWords(query) === foldWords(other) ? 'some of the words' : name;
}

/** Returns the words in lower case, without accents and punctuation. */
function foldWords(text: string): string {
  const folded = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return (folded.match(/[\p{L}\p{N}]+/gu) ?? []).join(' ');
}
