// Without imports of Fastify, because the mock server reads the header in the same way.

/** Returns the token of an Authorization header with the scheme Bearer, in any syntax; undefined if there is none. */
export function bearerToken(authorization = ''): string | undefined {
  return /^bearer +(\S.*)$/i.exec(authorization)?.[1];
}

/** Returns the token of an Authorization header; undefined unless it follows RFC 6750, section 2.1. */
export function accessToken(authorization: string): string | undefined {
  const token = bearerToken(authorization);
  return token !== undefined && /^[A-Za-z0-9._~+/-]+=*$/.test(token) ? token : undefined;
}
