/**
 * Returns the tables of a database if it belongs to another program; an empty list if it is new or the service's own.
 * Another program may use the same library for its migrations.
 * @param applied the names of the applied migrations
 * @param own     the names of the service's migrations, in their order
 */
export function foreignTables(
  tables: readonly string[],
  applied: readonly string[],
  own: readonly string[],
): readonly string[] {
  if (applied.includes(own[0] as string)) return [];
  return applied.length > 0 ? tables : tables.filter((name) => !name.startsWith('kysely_'));
}
