import { type SelectQueryBuilder, type StringReference, sql } from 'kysely';
import { type Page, type PageRequest, pageOf } from '../pagination.ts';

/** `messages.pk` -> `pk` */
type NameOf<Reference> = Reference extends `${string}.${infer Name}` ? Name : Reference;

/**
 * Reads a page of a list, starting after the item at `position`. An index on the columns makes each page equally cheap.
 * @param query selects the columns that order the list, under their own names
 * @param columns together unique, for example `['messages.created_at', 'messages.pk']`
 */
export async function readPage<
  DB,
  TB extends keyof DB,
  Row extends { [Name in NameOf<Column> & string]: string | number },
  const Column extends StringReference<DB, TB>,
>(
  query: SelectQueryBuilder<DB, TB, Row>,
  columns: readonly Column[],
  direction: 'asc' | 'desc',
  { limit, position }: PageRequest,
): Promise<Page<Row>> {
  let page = query.limit(limit + 1);
  for (const column of columns) page = page.orderBy(column, direction);
  if (position !== undefined) {
    const references = sql.join(columns.map((column) => sql.ref(column)));
    const operator = sql.raw(direction === 'asc' ? '>' : '<');
    page = page.where(sql<boolean>`(${references}) ${operator} (${sql.join(position)})`);
  }
  const names = columns.map((column) => column.slice(column.lastIndexOf('.') + 1));
  return pageOf(await page.execute(), limit, (row) =>
    names.map((name) => row[name as keyof Row] as string | number),
  );
}
