import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { extname, join } from 'node:path';
import { type HttpServer, startHttpServer } from '../support/http-server.ts';
import { startProcess } from '../support/processes.ts';

const CONTENT_TYPES: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};

/**
 * Serves the files of a folder on an origin of its own. Paths with other types of files return 404.
 * @param policy the Content-Security-Policy, by default none
 */
export async function serveSite(folder: string, policy = '', port = 0): Promise<HttpServer> {
  const respond: RequestListener = async (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    const path = pathname === '/' ? '/index.html' : pathname;
    const type = CONTENT_TYPES[extname(path)];
    const content = type && (await readFile(join(folder, path)).catch(() => undefined));
    if (!content) return response.writeHead(404).end();
    const headers = { 'content-type': type, 'content-security-policy': policy };
    return response.writeHead(200, headers).end(content);
  };
  return startHttpServer(respond, { port });
}

/** Builds the page in examples/web as its README says, for a service at another origin. */
export async function buildWebPage(folder: string, serviceUrl: string): Promise<void> {
  const vite = ['node_modules/vite/bin/vite.js', 'build', 'examples/web', '--outDir', folder];
  await using running = startProcess(process.execPath, vite, { VITE_API_URL: serviceUrl });
  const { code } = await running.result;
  if (code !== 0) throw new Error(running.output());
}

/** Returns the Content-Security-Policy in the README of the page. */
export function documentedPolicy(serviceUrl: string): string {
  const readme = readFileSync('examples/web/README.md', 'utf8');
  const policy = /^default-src .*$/m.exec(readme)?.[0];
  if (!policy) throw new Error('examples/web/README.md contains no Content-Security-Policy.');
  return policy.replaceAll('https://spaces.example.org', serviceUrl);
}
