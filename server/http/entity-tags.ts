import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { version as contractVersion } from '../contract.ts';
import type { ResourceState } from '../resources.ts';

// RFC 9110, sections 8.8.3 and 13.1

/** Returns the entity tags in the header If-Match or If-None-Match, with their quotes and `W/`. */
export function entityTagsIn(list: string): string[] {
  return list.split(',').map((tag) => tag.trim());
}

/** Returns whether If-None-Match has an entity tag, whether it is weak or not. */
export function isInNoneMatch({ headers }: FastifyRequest, etag: string): boolean {
  const list = headers['if-none-match'];
  if (list === undefined) return false;
  return list === '*' || entityTagsIn(list).some((tag) => tag.replace(/^W\//, '') === etag);
}

/**
 * Sends the entity tag of a resource, and returns it. It begins with the version of the resource. Caches must send it
 * back with each request.
 */
export function setEntityTag(reply: FastifyReply, { version, others }: ResourceState): string {
  // Another version of the contract can describe the same state with other fields.
  const hash = createHash('sha256').update(JSON.stringify([contractVersion, others]));
  const etag = `"${version}-${hash.digest('base64url').slice(0, 16)}"`;
  reply.headers({ etag, 'cache-control': 'no-cache' });
  return etag;
}

/**
 * Returns the versions in the entity tags of If-Match, or null if any version matches. A weak entity tag matches none.
 */
export function versionsInMatch({ headers }: FastifyRequest): number[] | null {
  const list = headers['if-match'];
  if (list === undefined || list === '*') return null;
  return entityTagsIn(list).flatMap((tag) => {
    const version = /^"(\d+)-[\w-]{16}"$/.exec(tag)?.[1];
    return version === undefined ? [] : Number(version);
  });
}

/** The generated types of replies have no 304. */
export function sendNotModified(reply: FastifyReply): FastifyReply {
  return reply.code(304).send();
}
