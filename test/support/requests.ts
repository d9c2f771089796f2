import sharp from 'sharp';
import { parse } from 'yaml';
import { contractText, type Operation } from '../../server/contract.ts';

interface Example {
  /** Path and query. */
  url: string;
  /** What goes with it, but for the token. */
  init: RequestInit & { method: string };
}

const contract = parse(contractText);
const pixel = await sharp({ create: { width: 1, height: 1, channels: 3, background: 'teal' } })
  .png()
  .toBuffer();

/** The least request that the contract calls valid, made of its examples. Nothing that it names need exist. */
export function exampleRequest({ path, method, bodyType, isBodyRequired }: Operation): Example {
  const item = contract.paths[path];
  const operation = item[method.toLowerCase()];
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(
    (each: { $ref?: string }) =>
      each.$ref ? contract.components.parameters[each.$ref.split('/').pop() as string] : each,
  );
  const query = new URLSearchParams();
  let url = path;
  for (const { name, in: place, required, example } of parameters) {
    if (place === 'path') url = url.replace(`{${name}}`, encodeURIComponent(example));
    else if (required) query.set(name, example);
  }
  if (query.size > 0) url += `?${query}`;

  if (bodyType === 'multipart/form-data') {
    const body = new FormData();
    body.set('avatar', new Blob([new Uint8Array(pixel)], { type: 'image/png' }), 'avatar.png');
    return { url, init: { method, body } };
  }
  if (bodyType === null || !isBodyRequired) return { url, init: { method } };
  const { example } = operation.requestBody.content[bodyType];
  const headers = { 'content-type': bodyType };
  return { url, init: { method, headers, body: JSON.stringify(example) } };
}
