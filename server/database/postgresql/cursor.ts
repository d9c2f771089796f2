import type pg from 'pg';
import Cursor from 'pg-cursor';

/** A cursor that can be closed after its connection was lost. The original waits for a response forever. */
export class ClosableCursor<Row> extends Cursor<Row> {
  /** Null until the query is sent. */
  declare connection: pg.Connection | null;

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
