import { cargo, type Generator } from '../generator.ts';
import { pinnedVersion } from '../pinned-version.ts';

export const progenitor: Generator = {
  folder: import.meta.dirname,
  version: pinnedVersion(import.meta.dirname, 'Cargo.toml', /^progenitor = \{ version = "=(.+?)"/m),
  toolchains: [cargo],
  async install({ run }) {
    await run('cargo fetch --quiet --locked');
  },
  // build.rs generates the client.
  command: 'cargo build --locked',
  async compile() {},
  journey: '../target/debug/journey',
};
