/** Maximum depth of arrays and objects in a request body. The contract needs three. */
const MAX_DEPTH = 8;

/** Returns whether the arrays and objects of a JSON text are nested too deeply. It costs less than parsing the text. */
export function isTooDeep(json: Uint8Array): boolean {
  let depth = 0;
  let isInString = false;
  for (let i = 0; i < json.length; i += 1) {
    const character = String.fromCharCode(json[i] as number);
    if (character === '"') isInString = !isInString;
    // Skips the escaped character, which can be a quote.
    else if (isInString) i += character === '\\' ? 1 : 0;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}
