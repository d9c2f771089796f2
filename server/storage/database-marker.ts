import { OperatorError } from '../errors.ts';

/** The name of the file or object with the id of the database to which a store belongs. */
export const MARKER_NAME = 'space-service-database.txt';

/** A storage may reject the creation while the operator deletes the marker. */
const MAX_MARKER_ATTEMPTS = 3;

/** The store belongs to another database, or does not keep its marker. */
export class MarkerError extends OperatorError {}

/** Access to the marker of a store, and words for messages to the operator. */
export interface MarkedStore {
  /** The beginning of a sentence, such as `The avatar folder data/avatars`. */
  description: string;
  /** What services with different databases would delete of each other. */
  content: 'avatars' | 'backups';
  /** Such as `the file data/avatars/space-service-database.txt`. */
  markerDescription: string;
  /** A sentence: what to do if the store belongs to another database that is still in use. */
  advice: string;
  /** Returns undefined if there is no marker. */
  read(): Promise<Buffer | undefined>;
  /** Creates the marker. May do nothing if another service creates it at the same time. */
  create(bytes: Buffer): Promise<void>;
}

/**
 * Marks a store with the id of a database, unless it has a marker. A service deletes avatars that its own users do not
 * have, and backups that it no longer keeps, so two databases must not share a store.
 * @param databaseId see `readDatabaseId`
 * @throws MarkerError if the store belongs to another database
 */
export async function claimStore(store: MarkedStore, databaseId: string): Promise<void> {
  const readMarker = async () => (await store.read())?.toString().trim();
  let marker = await readMarker();
  for (let attempt = 1; marker === undefined && attempt <= MAX_MARKER_ATTEMPTS; attempt += 1) {
    await store.create(Buffer.from(`${databaseId}\n`));
    // Another service may have created it first.
    marker = await readMarker();
  }
  if (marker === databaseId) return;
  const { description, content, markerDescription, advice } = store;
  throw new MarkerError(
    marker === undefined
      ? `${description} cannot be used, because it does not keep ${markerDescription}.`
      : `${description} belongs to another database, and the services of both would delete each other's ${content}. ${advice} If this database replaces the other one, stop the other service, delete ${markerDescription} and start again.`,
  );
}
