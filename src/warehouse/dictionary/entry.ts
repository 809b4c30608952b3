/** What the dictionary says of one view or function. */

/** A column or an argument, with its meaning. */
export interface NamedMeaning {
  readonly name: string;
  readonly about: string;
}

export interface DictionaryEntry {
  readonly schema: string;
  readonly name: string;
  readonly about: string;
  /** What one row is; null where that is said by `about`. */
  readonly grain: string | null;
  readonly traps: readonly string[];
  /** In their order; null for what is no function. */
  readonly arguments: readonly NamedMeaning[] | null;
  /** What a function of one value gives; null for what has columns. */
  readonly returns: string | null;
  /** The table, as `schema.name`, whose columns a function's rows have; null for what names its columns. */
  readonly rowsOf: string | null;
  readonly columns: readonly NamedMeaning[];
}
