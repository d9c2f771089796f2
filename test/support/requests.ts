import sharp from 'sharp';
import type { Operation } from '../../server/contract.ts';

interface ExampleRequest {
  /** Path and query. */
  url: string;
  /** Method, headers and body, without a token. */
  init: RequestInit & { method: string };
}

const pixel = await sharp({ create: { width: 1, height: 1, channels: 3, background: 'teal' } })
  .png()
  .toBuffer();

/**
 * Builds a valid request for an operation from the contract's examples, without optional query parameters and optional
 * bodies. The ids in it may not exist.
 * @param values replacements for examples, by the name of the parameter or of the property in the JSON body
 */
export function exampleRequest(
  operation: Operation,
  values: Readonly<Record<string, string>> = {},
): ExampleRequest {
  const { path, method, bodyType, isBodyRequired, parameters } = operation;
  const query = new URLSearchParams();
  let url = path;
  for (const { name, in: location, required, example } of parameters) {
    const value = values[name] ?? example;
    if (location === 'path') url = url.replace(`{${name}}`, encodeURIComponent(value));
    else if (required) query.set(name, value);
  }
  if (query.size > 0) url += `?${query}`;

  if (bodyType === 'multipart/form-data') {
    const body = new FormData();
    body.set('avatar', new Blob([new Uint8Array(pixel)], { type: 'image/png' }), 'avatar.png');
    return { url, init: { method, body } };
  }
  if (bodyType === null || !isBodyRequired) return { url, init: { method } };
  const fields = Object.entries(bodyExampleOf(operation) ?? {}).map(([name, example]) => [
    name,
    values[name] ?? example,
  ]);
  const headers = { 'content-type': bodyType };
  return { url, init: { method, headers, body: JSON.stringify(Object.fromEntries(fields)) } };
}

/**
 * Returns the paths of an operation with every combination of values for its required parameters.
 * @param values by the name of the parameter; the others have their examples
 */
export function pathsWith(
  operation: Operation,
  values: Readonly<Record<string, readonly string[]>>,
): string[] {
  let combinations: Record<string, string>[] = [{}];
  for (const { name, required } of operation.parameters) {
    const choices = required ? values[name] : undefined;
    if (!choices) continue;
    combinations = combinations.flatMap((each) => choices.map((v) => ({ ...each, [name]: v })));
  }
  return combinations.map((each) => exampleRequest(operation, each).url);
}

/** Returns the names of an operation's parameters and of the properties of its JSON body. */
export function inputNamesOf(operation: Operation): string[] {
  const parameters = operation.parameters.map(({ name }) => name);
  return [...parameters, ...Object.keys(bodyExampleOf(operation) ?? {})];
}

/** Operations that end the caller's session when they succeed. */
export const sessionEndingOperations: readonly string[] = ['logout', 'deleteAccount'];

/** Returns the example of the JSON body, or undefined for an operation without one. */
export function bodyExampleOf({ requestBody }: Operation): object | undefined {
  return requestBody?.content['application/json']?.example;
}
