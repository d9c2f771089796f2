import { type SelectQueryBuilder, type StringReference, sql } from 'kysely';
import { type Page, type PageRequest, type Position, pageOf } from '../pagination.ts';

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

/**
 * Reads the page of a list, in descending order, with the item at `position` in its middle. It has fewer later items if
 * there are not enough, and then more earlier ones. See `readPage`.
 */
export async function readPageAround<
  DB,
  TB extends keyof DB,
  Row extends { [Name in NameOf<Column> & string]: string | number },
  const Column extends StringReference<DB, TB>,
>(
  query: SelectQueryBuilder<DB, TB, Row>,
  columns: readonly Column[],
  position: Position,
  limit: number,
): Promise<Page<Row>> {
  const half = { limit: Math.floor(limit / 2), position };
  const later = await readPage(query, columns, 'asc', half);
  const references = sql.join(columns.map((column) => sql.ref(column)));
  const others = query.where(sql<boolean>`(${references}) <= (${sql.join(position)})`);
  const rest = { limit: limit - later.items.length };
  const { items, next } = await readPage(others, columns, 'desc', rest);
  return { items: [...later.items.reverse(), ...items], next };
}
