// Plain JavaScript, loaded before everything else: older versions cannot run TypeScript.

import { EX_CONFIG } from './exit-codes.js';

/** The oldest supported major version of Node.js. */
export const MIN_NODE_MAJOR = 24;

/**
 * The first version of each supported line with the security fixes that a public service needs. Lines in between have no
 * support.
 */
export const SECURE_NODE_VERSIONS = ['24.22.1', '26.12.1'];

/** @param {string} version such as 24.21.0 */
const majorOf = (version) => Number(version.split('.')[0]);

/**
 * Returns an error message if the version cannot run the service, otherwise undefined.
 * @param {string} version such as 24.21.0
 */
export function explainUnsupportedVersion(version) {
  if (majorOf(version) >= MIN_NODE_MAJOR) return undefined;
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
  const first = SECURE_NODE_VERSIONS.find((each) => majorOf(each) >= majorOf(version));
  // A line after the last one began with the fixes.
  if (first === undefined) return undefined;
  const isSameLine = majorOf(first) === majorOf(version);
  if (isSameLine && version.localeCompare(first, 'en', { numeric: true }) >= 0) return undefined;
  return (
    `Node.js v${version} lacks security fixes. ` +
    `Run a public service on v${SECURE_NODE_VERSIONS.join(' or v')}, or a later version of these lines.`
  );
}

const reason = explainUnsupportedVersion(process.versions.node);
if (reason !== undefined) {
  console.error(reason);
  process.exit(EX_CONFIG);
}
