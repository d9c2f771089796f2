// Plain JavaScript, loaded before everything else: older versions cannot run TypeScript.

import { EX_CONFIG } from './exit-codes.js';

/** The oldest supported major version of Node.js. */
export const MIN_NODE_MAJOR = 24;

/** Older versions lack security fixes that a public service needs. */
export const MIN_SECURE_NODE_VERSION = '24.22.1';

/**
 * Returns an error message if the version cannot run the service, otherwise undefined.
 * @param {string} version such as 24.21.0
 */
export function explainUnsupportedVersion(version) {
  if (Number(version.split('.')[0]) >= MIN_NODE_MAJOR) return undefined;
  return (
    `space-service needs Node.js ${MIN_NODE_MAJOR} or newer, and this is v${version}. ` +
    'In the repository, "npm ci" installs it for the npm scripts; "npm ci --omit=dev" does not.'
  );
}

/**
 * Returns a warning if the version lacks security fixes, otherwise undefined.
 * @param {string} version such as 24.21.0
 */
export function explainInsecureVersion(version) {
  const isSecure = version.localeCompare(MIN_SECURE_NODE_VERSION, 'en', { numeric: true }) >= 0;
  if (isSecure) return undefined;
  return (
    `Node.js v${version} lacks security fixes. ` +
    `Run a public service on v${MIN_SECURE_NODE_VERSION} or newer.`
  );
}

const reason = explainUnsupportedVersion(process.versions.node);
if (reason !== undefined) {
  console.error(reason);
  process.exit(EX_CONFIG);
}
