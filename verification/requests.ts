import type { Operation } from '../server/contract.ts';

interface ExampleRequest {
  /** Path and query. */
  url: string;
  /** Method, headers and body, without a token. */
  init: { method: string; headers?: Record<string, string>; body?: string | FormData };
}

/** A PNG of 8 x 8 pixels. */
export const avatar = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEElEQVQI12NgaGjAjoaWBADiMEABk634GAAAAABJRU5ErkJggg==',
  'base64',
);

/** Returns a multipart body with a file, or without a file. */
export function avatarForm(file?: BlobPart): FormData {
  const form = new FormData();
  if (file) form.set('avatar', new Blob([file], { type: 'image/png' }), 'avatar.png');
  return form;
}

/**
 * Builds a valid request for an operation from the contract's examples. The ids in it may not exist.
 * @param values replacements for examples, by the name of the parameter or of the property in the JSON body
 * @param isComplete whether to include optional query parameters that have an example, and an optional body
 */
export function exampleRequest(
  operation: Operation,
  values: Readonly<Record<string, string>> = {},
  isComplete = false,
): ExampleRequest {
  const { path, method, bodyType, isBodyRequired, parameters } = operation;
  const query = new URLSearchParams();
  let url = path;
  for (const { name, in: location, required, example } of parameters) {
    const value = values[name] ?? example;
    if (location === 'path') url = url.replace(`{${name}}`, encodeURIComponent(value));
    else if (location === 'query' && (required || (isComplete && value !== undefined)))
      query.set(name, value);
  }
  if (query.size > 0) url += `?${query}`;

  if (bodyType === 'multipart/form-data')
    return { url, init: { method, body: avatarForm(avatar) } };
  if (bodyType === null || !(isBodyRequired || isComplete)) return { url, init: { method } };
  const fields = Object.entries(bodyExampleOf(operation) ?? {}).map(([name, example]) => [
    name,
    values[name] ?? example,
  ]);
  const headers = { 'content-type': bodyType };
  return { url, init: { method, headers, body: JSON.stringify(Object.fromEntries(fields)) } };
}

/** Returns the names of an operation's parameters and of the properties of its JSON body. */
export function inputNamesOf(operation: Operation): string[] {
  const parameters = operation.parameters.map(({ name }) => name);
  return [...parameters, ...Object.keys(bodyExampleOf(operation) ?? {})];
}

/** Returns the example of the JSON body, or undefined for an operation without one. */
export function bodyExampleOf({ requestBody }: Operation): object | undefined {
  return requestBody?.content['application/json']?.example;
}
