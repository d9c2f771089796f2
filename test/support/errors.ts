/** Returns the status and the error code in the response of a failed call, such as `404 space_not_found`. */
export async function getError(
  call: Promise<{ error?: unknown; response?: Response }>,
): Promise<string> {
  const { error, response } = await call;
  if (response === undefined) throw error;
  const { status, code } = (error ?? {}) as { status?: number; code?: string };
  if (response.status !== status) {
    throw new Error(`The status is ${response.status}, but the body contains ${status}.`);
  }
  return `${status} ${code}`;
}
