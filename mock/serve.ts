import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';

// Serves the contract's examples: no data, no database, every documented answer.
const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '4010' },
  },
});
const url = `http://${values.host}:${values.port}`;
console.log(`The mock answers at ${url} with the examples of openapi.yaml. Stop it with Ctrl+C.

  curl -w '\\n' '${url}/api/spaces/search?q=bread'
  curl -w '\\n' -H 'Authorization: Bearer any' ${url}/api/profile/me
  curl -w '\\n' -H 'Authorization: Bearer any' -H 'Prefer: code=503' ${url}/api/profile/me      # any documented status
  curl -w '\\n' -H 'Prefer: code=409, example=email' -H 'Content-Type: application/json' \\
    -d '{"username":"ada","email":"ada@example.com","password":"correct horse battery"}' ${url}/api/auth/register
`);

let prism: ChildProcess | undefined;
let isStopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isStopping = true;
    prism?.kill('SIGTERM');
  });
}

while (!isStopping) {
  const startedAt = Date.now();
  prism = spawn(
    'prism',
    ['mock', 'openapi.yaml', '--host', values.host, '--port', values.port, '--cors'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const [code] = await once(prism, 'exit');
  if (isStopping) break;
  // A malformed multipart body makes Prism crash: it is up again at once. But one that does not even start stays down.
  if (Date.now() - startedAt < 5_000) process.exit(code ?? 1);
  console.error('The mock crashed on a request and starts again.');
}
