import { type Generator, go } from '../generator.ts';
import { pinnedVersion } from '../pinned-version.ts';

export const ogen: Generator = {
  folder: import.meta.dirname,
  version: pinnedVersion(import.meta.dirname, 'go.mod', /github\.com\/ogen-go\/ogen v(\S+)/),
  toolchains: [go],
  async install({ run }) {
    await run('go mod download');
  },
  command: 'go tool ogen --target spaceservice --package spaceservice openapi.yaml',
  async compile({ run }) {
    await run('go vet ./...');
    await run('go build -o journey .');
  },
  journey: './journey',
};
