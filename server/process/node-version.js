// Plain JavaScript, loaded before everything else: older versions cannot run TypeScript.

/** The oldest major version of Node.js that runs the service. */
export const MIN_NODE_MAJOR = 24;

/** Older versions lack security fixes that a public service needs. */
export const SECURE_NODE_VERSION = '24.22.1';

/**
 * Returns a line that says why this version cannot run the service; undefined if it can.
 * @param {string} version such as 24.21.0
 */
export function unsupportedVersion(version) {
  if (Number(version.split('.')[0]) >= MIN_NODE_MAJOR) return undefined;
  return (
    `space-service needs Node.js ${MIN_NODE_MAJOR} or newer, and this is v${version}. ` +
    '"npm ci" installs it for the npm scripts, "npm ci --omit=dev" does not.'
  );
}

/**
 * Returns a line that says what to upgrade to; undefined if this version has the security fixes.
 * @param {string} version such as 24.21.0
 */
export function insecureVersion(version) {
  if (version.localeCompare(SECURE_NODE_VERSION, 'en', { numeric: true }) >= 0) return undefined;
  return (
    `Node.js v${version} lacks security fixes. ` +
    `Run a public service on v${SECURE_NODE_VERSION} or newer.`
  );
}

const reason = unsupportedVersion(process.versions.node);
if (reason !== undefined) {
  console.error(reason);
  process.exit(1);
}
