import { existsSync } from 'node:fs';

/** The Node.js of this machine, often an older version than the one of the repository; undefined if there is none. */
export const systemNode = ['/usr/bin/node', '/usr/local/bin/node'].find((path) => existsSync(path));
