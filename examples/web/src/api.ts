import {
  type ApiError,
  createClient,
  createConfig,
  login,
  logout,
  ProfileAPI,
  register,
  SearchAPI,
} from 'space-service';
import { accessToken, endSession, startSession } from './session.ts';

/** The service. By default, it has the origin of this page. */
const baseUrl = import.meta.env.VITE_API_URL || location.origin;

/** Rejects if the session has changed meanwhile, so that the page shows no late response of an earlier account. */
const fetchInSession: typeof fetch = async (...request) => {
  const token = accessToken();
  const response = await fetch(...request);
  if (accessToken() !== token) throw new Error('The session has changed.');
  return response;
};

export const searchApi = new SearchAPI({ baseUrl });
export const profileApi = new ProfileAPI({ baseUrl, token: accessToken, fetch: fetchInSession });

/** For the operations that the two objects above do not have. */
export const client = createClient(
  createConfig({ baseUrl, auth: accessToken, fetch: fetchInSession }),
);

/** @throws ApiError */
export async function signIn(email: string, password: string): Promise<void> {
  const session = await dataOf(login({ client, body: { email, password } }));
  startSession(session.access_token);
}

/** @throws ApiError */
export async function signUp(username: string, email: string, password: string): Promise<void> {
  const session = await dataOf(register({ client, body: { username, email, password } }));
  startSession(session.access_token);
}

/** Does not wait for the service, so that people are signed out here even if it cannot be reached. */
export function signOut(): void {
  const auth = accessToken();
  endSession();
  void logout({ client, auth });
}

/**
 * Returns the body of a successful response.
 * @throws ApiError for any other response
 */
export async function dataOf<T>(request: Promise<{ data?: T; error?: ApiError }>): Promise<T> {
  const { data, error } = await request;
  if (data === undefined) throw error;
  return data;
}
