import type { AvatarUrls } from './avatars/store.ts';
import type { Quotas } from './config.ts';
import type { Engine } from './database/engine.ts';

/** The resources of domain functions that write for an account. */
export interface WriteResources {
  engine: Engine;
  quotas: Quotas;
}

/** The resources of domain functions whose results contain avatar URLs. */
export interface Stores {
  engine: Engine;
  avatars: AvatarUrls;
}
