import { useQuery } from '@tanstack/react-query';
import type { Profile } from 'space-service';
import { getProfileOptions } from 'space-service/tanstack-react-query';
import { useIsSignedIn } from './session.ts';

/** Returns the profile of the signed-in user; undefined while it is loading, and without a session. */
export function useProfile(): Profile | undefined {
  const isSignedIn = useIsSignedIn();
  return useQuery({ ...getProfileOptions(), enabled: isSignedIn }).data;
}
