import type { AvatarUrls } from './avatars/store.ts';
import type { Quotas } from './config.ts';
import type { Engine } from './database/engine.ts';

/** The resources of domain functions whose results contain avatar URLs. */
export interface AvatarResources {
  engine: Engine;
  avatars: AvatarUrls;
}

/** The stored values that determine a response. */
export interface ResourceState {
  /** Increases with every change of the fields that clients can edit. */
  version: number;
  /** The other values, such as those of other resources in the response. */
  others: readonly unknown[];
}

/** The resources of domain functions that count actions against quotas. */
export interface QuotaResources {
  engine: Engine;
  quotas: Quotas;
}
