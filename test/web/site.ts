import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { dirname, extname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import manifest from '../../examples/web/package.json' with { type: 'json' };
import { type HttpServer, startHttpServer } from '../support/http-server.ts';
import { startProcess } from '../support/processes.ts';

const run = promisify(execFile);

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

/**
 * Copies examples/web to a folder outside of the repository as its README says, with the packed npm package.
 * @param folder an empty folder
 * @returns the copy
 */
export async function copyWebPage(folder: string): Promise<string> {
  const built = join(folder, 'built');
  await run(process.execPath, ['codegen/build-packages.ts', built, 'space-service']);
  const source = join(built, 'space-service');
  const { stdout } = await run('npm', ['pack', source, '--pack-destination', folder, '--silent']);

  const copy = join(folder, 'copy');
  const excluded = [resolve('examples/web/dist'), resolve('examples/web/node_modules')];
  const filter = (path: string) => !excluded.includes(resolve(path));
  await cp('examples/web', copy, { recursive: true, filter });
  const settings = await readFile(join(copy, 'tsconfig.json'), 'utf8');
  const withoutPaths = settings.replace(/,\s*\/\/[^"]*"paths": \{[^}]*\}/, '');
  if (withoutPaths.includes('paths')) throw new Error('tsconfig.json of the copy has paths.');
  await writeFile(join(copy, 'tsconfig.json'), withoutPaths);

  const installed = join(copy, 'node_modules/space-service');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', join(folder, stdout.trim()), '-C', installed, '--strip-components=1']);
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })) {
    if (name === 'space-service') continue;
    const link = join(copy, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(resolve('node_modules', name), link);
  }
  return copy;
}

/** Checks and builds a copy of the page for a service at another origin. */
export async function buildWebPage(
  copy: string,
  folder: string,
  serviceUrl: string,
): Promise<void> {
  const args = ['run', 'build', '--', '--outDir', folder];
  await using running = startProcess('npm', args, { VITE_API_URL: serviceUrl }, '', copy);
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
