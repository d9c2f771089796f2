declare module 'opencc-js/dict/TSCharacters' {
  /** Pairs of a traditional character and its simplified forms, separated by `|`, in each separated by spaces. */
  const pairs: string;
  export default pairs;
}
