import type pg from 'pg';
import Cursor from 'pg-cursor';

/** A method that the types of `pg-cursor` lack. `pg` calls it if the query or the connection fails. */
const { handleError } = Cursor.prototype as unknown as {
  handleError(this: Cursor, error: Error): void;
};

/** A cursor whose `read` and `close` end if its connection is lost. The original can wait for a response forever. */
export class ClosableCursor<Row> extends Cursor<Row> {
  /** Null until the query is sent. */
  declare connection: pg.Connection | null;
  declare state: string;
  /** The callback of the current read. */
  declare _cb: ((error: Error) => void) | null;

  handleError(error: Error): void {
    handleError.call(this, error);
    // The original ignores errors after the last row, although the read still waits for the end of the query.
    if (this.state === 'done') this._cb?.(error);
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `close` have no common type
  override close(): any {
    const { connection } = this;
    if (connection === null) return super.close();
    if (connection.stream.destroyed) return Promise.resolve();
    return new Promise<void>((resolve) => {
      const finish = () => {
        connection.off('end', finish);
        resolve();
      };
      connection.once('end', finish);
      super.close(finish);
    });
  }
}
