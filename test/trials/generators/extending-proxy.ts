import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { contract } from '../../../server/contract.ts';
import { type HttpServer, startHttpServer } from '../../support/http-server.ts';

/**
 * A server in front of another one. Its JSON responses are those of a later version: every object has an unknown field,
 * and every open enum an unknown value.
 */
export interface ExtendingProxy extends HttpServer {
  /** Number of objects extended since the start, by media type. */
  extended: Map<string, number>;
}

/** A value that no open enum lists. */
export const ADDED_VALUE = 'added_later';

/** The open enums of each schema, with all of its fields, by which its objects are found. */
const openEnums = Object.values(contract.components.schemas).flatMap(({ properties = {} }) => {
  const names = Object.keys(properties).filter((name) => properties[name]?.['x-extensible-enum']);
  return names.length === 0 ? [] : { names, fields: Object.keys(properties) };
});

function addValues(object: object): object {
  const names = openEnums
    .filter(({ fields }) => fields.every((field) => field in object))
    .flatMap((each) => each.names);
  return Object.fromEntries(names.map((name) => [name, ADDED_VALUE]));
}

/** A value that a client can only ignore: nested, and of several types. */
const ADDED_FIELD = { added_later: { values: [1, 'two', null], isNew: true } };

export async function startExtendingProxy(target: string): Promise<ExtendingProxy> {
  const extended = new Map<string, number>();
  const server = await startHttpServer((incoming, outgoing) => {
    forward(incoming, outgoing, target, extended);
  });
  return { ...server, extended };
}

function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  target: string,
  extended: Map<string, number>,
): void {
  const { method } = incoming;
  const headers = { ...incoming.headers };
  // These are about one connection. Java asks for HTTP/2.
  for (const name of ['connection', 'upgrade', 'http2-settings']) delete headers[name];
  const upstream = request(target + incoming.url, { method, headers });
  const fail = (error: Error) => {
    if (!outgoing.headersSent) outgoing.writeHead(502).end(error.message);
  };
  const respond = async (response: IncomingMessage) => {
    const mediaType = response.headers['content-type'] ?? '';
    let body = await buffer(response);
    if (/[/+]json$/.test(mediaType)) {
      const text = JSON.stringify(JSON.parse(body.toString()), (_key, value) => {
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
        if (value === ADDED_FIELD.added_later) return value;
        extended.set(mediaType, (extended.get(mediaType) ?? 0) + 1);
        return { ...value, ...addValues(value), ...ADDED_FIELD };
      });
      body = Buffer.from(text);
    }
    outgoing.writeHead(response.statusCode as number, {
      ...response.headers,
      'content-length': body.length,
    });
    outgoing.end(body);
  };
  upstream.on('response', (response) => void respond(response).catch(fail));
  // The server can respond and disconnect before it has read a whole upload.
  upstream.on('error', fail);
  incoming.pipe(upstream);
}
