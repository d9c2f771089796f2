import { sql } from 'kysely';

/**
 * SQL for the spaces of suspended and deleted users that a copy of the search index has not removed yet. Results omit
 * them. See `SearchIndex.hasHiddenSpaces`.
 */
export const HIDDEN_SPACES = sql`erased_spaces
  CROSS JOIN public_spaces ON public_spaces.space_pk = erased_spaces.space_pk
  WHERE creator_pk NOT IN (SELECT pk FROM users)`;
