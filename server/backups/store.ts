/** Where scheduled backups are kept: a folder or a bucket. Names are those of files in `folder`. */
export interface BackupStore {
  /** Returns the names in a folder, without folders. Some can end with `.part`, which a killed process has left. */
  list(folder: Folder): Promise<string[]>;
  /** Returns undefined if there is no such file. */
  read(folder: Folder, name: string): Promise<Buffer | undefined>;
  /** Resolves once the file is durable. Replaces an existing file. */
  put(folder: Folder, name: string, bytes: Buffer): Promise<void>;
  /**
   * Writes a file that may be large. It appears once `write` has resolved.
   * @param write writes an empty file at the given path
   */
  putLarge(name: string, write: (path: string) => Promise<void>): Promise<void>;
  /** Calls `use` with the path of a file that may be large, for reading. */
  useLarge<T>(name: string, use: (path: string) => Promise<T>): Promise<T>;
  /** Does nothing if there is no such file. */
  remove(folder: Folder, name: string): Promise<void>;
  /**
   * Marks the store with the id of a database, because a service deletes backups that it does not keep.
   * @throws OperatorError if it belongs to another database
   */
  claim(databaseId: string): Promise<void>;
  /** Whether the store caused an error and may work later. */
  isUnavailable(error: unknown): boolean;
}

/** The top folder has the databases, and `avatars` the avatars of all backups. */
export type Folder = 'top' | 'avatars';
