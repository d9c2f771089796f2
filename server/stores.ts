import type { AvatarUrls } from './avatars/store.ts';
import type { Engine } from './database/engine.ts';

/** What domain functions need to read data and to show avatars. */
export interface Stores {
  engine: Engine;
  avatars: AvatarUrls;
}
