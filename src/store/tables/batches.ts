/** SQLite binds 32,766 values of a statement at the most, Postgres 65,535. */
const MOST_ROWS = 500;

/** Rows, or values of a list, as many as one statement takes. */
export function* inBatches<T>(all: readonly T[], most = MOST_ROWS): Generator<T[]> {
  for (let from = 0; from < all.length; from += most) yield all.slice(from, from + most);
}
