#!/usr/bin/env node
// First, because it exits with an explanation on versions of Node.js that cannot run the other modules.
import './node-version.js';
import { parseArgs } from 'node:util';
import type { MockOptions } from './server.ts';

// Not a static import, because Node.js parses those first, and older versions fail at newer syntax.
const { startMock } = await import('./server.ts');

/** Whether this module is compiled, as in the npm package. The repository has no compiled modules. */
const isPackaged = import.meta.filename.endsWith('.js');

const USAGE = `Usage: ${isPackaged ? 'space-service-mock' : 'npm run mock --'} [--stateful] [--host ADDRESS] [--port NUMBER]

  --stateful        Run the server on sample data instead of returning the examples in openapi.yaml
  --host ADDRESS    Listen on this address (default: 127.0.0.1)
  --port NUMBER     Listen on this port, whatever PORT is (default: 4010; 0 for any free port)
  --help            Print this text

Headers of requests, in both modes:
  Prefer: code=409                        Respond with the example of this status
  Prefer: code=409, example=email_taken   Respond with one of several examples of this status
  Prefer: code=429, retry-after=2         Respond with another value of Retry-After
  Prefer: html=502                        Respond with an HTML page, as a proxy or a captive portal does
  Prefer: disconnect=before               Close the connection instead of processing the request
  Prefer: disconnect=after                Process the request, and close the connection instead of responding
  Prefer: delay-ms=1500                   Wait before the response, at most 20,000 ms

For a request to which you cannot add headers, send Prefer before it:
  POST /__next/sendMessage                Applies Prefer to the next request of this operationId. With a header
                                          Authorization, only to the next one with the same header.
  GET /__mails                            Returns the mail that --stateful has sent
  POST /__reset                           Forgets such preferences, and restores the data of --stateful`;

// Without a listener, a signal would end the process without its exit handlers, which delete the data of --stateful.
// Not with `once`, because Ctrl+C causes two signals: one from the terminal and one from npm. A closed terminal sends
// SIGHUP.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => process.exit(0));
}

const options = readArguments();
if (options.isStateful && !isServerInstalled()) {
  console.error(
    '--stateful runs the server. Install the package space-service-server of the same version beside space-service-tools, or omit --stateful.',
  );
  process.exit(1);
}
try {
  const { url } = await startMock(options);
  console.log(options.isStateful ? describeStatefulMock(url) : describeMock(url));
} catch (error) {
  if (!(error instanceof Error && 'syscall' in error)) throw error;
  console.error(explain(error as NodeJS.ErrnoException, options));
  process.exit(1);
}

function readArguments(): MockOptions {
  try {
    const { values } = parseArgs({
      options: {
        host: { type: 'string', default: '127.0.0.1' },
        port: { type: 'string', default: '4010' },
        stateful: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) {
      console.log(USAGE);
      process.exit(0);
    }
    const { host, port, stateful: isStateful } = values;
    if (/^\d{1,5}$/.test(port) && Number(port) <= 65_535) {
      return { host, port: Number(port), isStateful };
    }
    console.error(`--port ${port} is not a number from 0 to 65535.`);
  } catch (error) {
    console.error((error as Error).message);
  }
  console.error(USAGE);
  process.exit(1);
}

/** Explains an error of a system call. Those while listening are about the address. */
function explain(error: NodeJS.ErrnoException, { host, port }: MockOptions): string {
  if (error.syscall !== 'listen' && error.syscall !== 'getaddrinfo') return error.message;
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use. Choose another with --port.`;
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose 1024 or higher with --port.`;
    case 'EAI_AGAIN':
      return `${host} cannot be resolved, because the name server does not respond.`;
    case 'ENOTFOUND':
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine. Choose another with --host, such as 127.0.0.1.`;
    default:
      return error.message;
  }
}

/** In the npm package, the server is an optional peer dependency. */
function isServerInstalled(): boolean {
  try {
    import.meta.resolve('#stateful-mock');
    return true;
  } catch {
    return false;
  }
}

function describeMock(url: string): string {
  return `The mock server listens at ${url}. Its responses are the examples in ${url}/openapi.yaml. Press Ctrl+C to stop it.

  curl -w '\\n' '${url}/api/spaces/search?q=bread'
  curl -w '\\n' -H 'Authorization: Bearer any' ${url}/api/profile/me
  curl -w '\\n' -H 'Authorization: Bearer any' -H 'Prefer: code=503' ${url}/api/profile/me     # any documented status
  curl -w '\\n' -H 'Prefer: code=409, example=email_taken' -X POST ${url}/api/auth/register    # one of several examples
  curl -w '\\n' -H 'Prefer: delay-ms=1500' '${url}/api/spaces/search?q=bread'                  # a slow response
  curl -X POST -H 'Prefer: code=503' ${url}/__next/sendMessage     # the next response of an operation
`;
}

function describeStatefulMock(url: string): string {
  return `The mock server listens at ${url}. It runs the server on sample data, which is deleted when you stop it with Ctrl+C.
The API reference is at ${url}/docs.

  curl -w '\\n' '${url}/api/spaces/search?q=bread'
  curl -w '\\n' -H 'Content-Type: application/json' -d '{"email":"ada@example.com","password":"correct horse battery"}' \\
    ${url}/api/auth/login                                       # returns an access token
  curl -w '\\n' -H 'Prefer: code=503' ${url}/api/profile/me      # any documented status
  curl -w '\\n' ${url}/__mails                                   # the mail that it has sent
  curl -w '\\n' -X POST ${url}/__reset                           # restores the sample data

The other users are person2@example.com to person30@example.com, with the same password.
`;
}
