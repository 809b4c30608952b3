/**
 * The grammar of sub-IDs, as the partner declares it: `{site}|{placement}|{campaign}`. Text between names is literal.
 * How a sub-ID is read by it is said where it is done, at `warehouse.sub_id_reading` in sql/.
 */

/** A part of a sub-ID; `before` and `after` are the literals beside it, empty only at the ends of the grammar. */
export interface SubIdPart {
  /** From 1. */
  readonly position: number;
  readonly name: string;
  readonly before: string;
  readonly after: string;
  readonly is_last: boolean;
}

export const SUB_ID_PARTS_MOST = 10;

export const SUB_ID_GRAMMAR = `1 to ${SUB_ID_PARTS_MOST} names in braces, each once, of a to z and "_", with text between any two, such as "{site}|{placement}"; or null`;

/** The parts in their order; null for what is no grammar. */
export function subIdParts(grammar: string): SubIdPart[] | null {
  // Split by a capture group: literal, name, literal, name, …, literal.
  const pieces = grammar.split(/\{([a-z_]+)\}/);
  const literals = pieces.filter((_, i) => i % 2 === 0);
  const names = pieces.filter((_, i) => i % 2 === 1);
  const isPlain = literals.every((literal) => /^[^{}\p{Cc}\p{Cs}]*$/u.test(literal));
  const isApart = literals.slice(1, -1).every((literal) => literal !== '');
  const isOnce = new Set(names).size === names.length;
  if (!isPlain || !isApart || !isOnce || names.length === 0 || names.length > SUB_ID_PARTS_MOST) return null;
  return names.map((name, i) => ({
    position: i + 1,
    name,
    before: literals[i] ?? '',
    after: literals[i + 1] ?? '',
    is_last: i === names.length - 1,
  }));
}
