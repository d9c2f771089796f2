/** Addresses of the web, without punctuation after them, but with pairs of parentheses. */
const URLS = /(https?:\/\/(?:[^\s<>"()]*(?:\([^\s<>"()]*\)|[^\s<>"'.,:;!?()\]}]))+)/;

/** A text by a user, with links to the addresses in it. They open in another tab, so that nothing here is lost. */
export function LinkedText({ text }: { text: string }) {
  // A URL follows each text in between.
  return text.split(URLS).map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts never change their order.
      <a key={index} href={part} target="_blank" rel="noopener noreferrer">
        {part}
      </a>
    ),
  );
}
