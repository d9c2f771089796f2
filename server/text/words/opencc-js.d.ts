declare module 'opencc-js/dict/TSCharacters' {
  /** Entries separated by `|`: a traditional character and its simplified forms, separated by spaces. */
  const entries: string;
  export default entries;
}
