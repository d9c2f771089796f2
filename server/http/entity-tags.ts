import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { version as contractVersion } from '../contract.ts';
import type { ResourceState } from '../resources.ts';

// RFC 9110, sections 8.8.3 and 13.1

/** Returns the entity tags in the header If-Match or If-None-Match, with their quotes and `W/`. */
function entityTagsIn(list: string): string[] {
  return list.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g) ?? [];
}

/** Returns whether If-Match is absent or has an entity tag. A weak entity tag matches none: the comparison is strong. */
export function isInMatch({ headers }: FastifyRequest, etag: string): boolean {
  const list = headers['if-match'];
  return list === undefined || list.trim() === '*' || entityTagsIn(list).includes(etag);
}

/** Returns whether If-None-Match has an entity tag, whether it is weak or not. */
export function isInNoneMatch({ headers }: FastifyRequest, etag: string): boolean {
  const list = headers['if-none-match'];
  if (list === undefined) return false;
  return list.trim() === '*' || entityTagsIn(list).some((tag) => tag.replace(/^W\//, '') === etag);
}

/** Returns the entity tag of a resource. */
export function entityTagOf({ version, others }: ResourceState): string {
  // Another version of the contract can describe the same state with other fields.
  const digest = hash('sha256', JSON.stringify([contractVersion, version, others]), 'base64url');
  return `"${version}-${digest.slice(0, 16)}"`;
}

/** Sends the entity tag of a resource, and returns it. Caches must send it back with each request. */
export function setEntityTag(reply: FastifyReply, state: ResourceState): string {
  const etag = entityTagOf(state);
  reply.headers({ etag, 'cache-control': 'no-cache' });
  return etag;
}

/** The generated types of replies have no 304. */
export function sendNotModified(reply: FastifyReply): FastifyReply {
  return reply.code(304).send();
}
