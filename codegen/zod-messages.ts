import { MESSAGES } from '../server/http/validation.ts';

/** Of patterns without an `x-pattern-message`: the service explains their values one by one. */
const PATTERN_MESSAGE = 'is blank or has characters that are not accepted';

/**
 * Returns the Zod schemas with the messages of the service for bounds and patterns. Those of Zod are for programmers.
 * @throws Error if the code has another form, as after an update of the generator
 */
export function withMessages(code: string): string {
  const changed = code
    .replaceAll(/z\.(?:string|iso\.datetime)\(\)(?:\.(?:min|max)\(\d+\))+/g, (text) =>
      text.replaceAll(/(min|max)\((\d+)\)/g, (_, bound, limit) =>
        withMessage(bound, limit, `${bound}Length`),
      ),
    )
    .replaceAll(/(?<=z\.array\(.*\)\.)(min|max)\((\d+)\)/g, (_, bound, limit) =>
      withMessage(bound, limit, `${bound}Items`),
    )
    .replaceAll(/\b(gte|lte)\((\d+)\)/g, (_, bound, limit) =>
      withMessage(bound, limit, bound === 'gte' ? 'minimum' : 'maximum'),
    )
    .replaceAll(/(?<=\.regex\(\/.*\/)\)/g, `, '${PATTERN_MESSAGE}')`);
  const other = /\.(?:min|max|gte|lte|length)\(\d+\)/.exec(changed);
  if (other) throw new Error(`zod.gen.ts has a bound without a message: ${other[0]}`);
  return changed;
}

function withMessage(bound: string, limit: string, keyword: string): string {
  return `${bound}(${limit}, '${MESSAGES[keyword]?.({ limit: Number(limit) })}')`;
}
