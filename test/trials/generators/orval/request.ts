const { SERVER_URL: serverUrl = '' } = process.env;

/** Sends a request of the generated client. */
export async function request<T>(path: string, options: RequestInit): Promise<T> {
  const response = await fetch(serverUrl + path, options);
  const { status, headers } = response;
  return { data: await response.json(), status, headers } as T;
}
