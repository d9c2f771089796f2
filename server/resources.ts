import type { AvatarUrls } from './avatars/store.ts';
import type { Quotas } from './config.ts';
import type { Engine } from './database/engine.ts';

/** The resources of domain functions whose results contain avatar URLs. */
export interface AvatarResources {
  engine: Engine;
  avatars: AvatarUrls;
}

/** The resources of domain functions that count actions against quotas. */
export interface QuotaResources {
  engine: Engine;
  quotas: Quotas;
}
