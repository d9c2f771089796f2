// Without imports, so that it runs before the other modules, which older versions of Node.js cannot load.

/** The oldest supported major version of Node.js. */
export const MIN_NODE_MAJOR = 24;

const { node } = process.versions;
if (Number(node.split('.')[0]) < MIN_NODE_MAJOR) {
  console.error(
    `space-service-contract needs Node.js ${MIN_NODE_MAJOR} or newer, and this is v${node}. ` +
      `To add it only to the project in this folder: npm install --save-dev node@${MIN_NODE_MAJOR}`,
  );
  process.exit(2);
}
