// Plain JavaScript without imports, because older versions of Node.js cannot load the other modules.

const MIN_NODE_MAJOR = 24;

const { node } = process.versions;
if (Number(node.split('.')[0]) < MIN_NODE_MAJOR) {
  console.error(
    `space-service-contract needs Node.js ${MIN_NODE_MAJOR} or newer, and this is v${node}.`,
  );
  process.exit(2);
}
