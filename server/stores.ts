import type { AvatarUrls } from './avatars/store.ts';
import type { Engine } from './database/engine.ts';

/** The resources of domain functions whose results contain avatar URLs. */
export interface Stores {
  engine: Engine;
  avatars: AvatarUrls;
}
