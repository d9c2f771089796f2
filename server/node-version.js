// Loaded before anything else, and in plain JavaScript: what it refuses cannot read TypeScript.
const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  console.error(
    `space-service needs Node.js 24 or newer, and this is ${process.version}. "npm ci" brings it along.`,
  );
  process.exit(1);
}
