/** JSON as the language's own parser reads it, but with every digit of numbers and every member of objects: an oracle. */

export interface Numeral {
  readonly number: string;
}

export interface Members {
  /** In their order, also those that come twice. */
  readonly members: readonly (readonly [name: string, value: Plain])[];
}

export type Plain = string | boolean | null | Numeral | readonly Plain[] | Members;

/** undefined for what is no JSON. */
export function plainJson(text: string): Plain | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  // It is sound, so its tokens can be taken as they come.
  const tokens = text.match(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[-+.\deE]*|true|false|null|[{}[\],:]/gs) ?? [];
  let at = 0;
  const value = (): Plain => {
    const token = tokens[at++]!;
    if (token === '[') return elements();
    if (token === '{') return { members: members() };
    if (token.startsWith('"')) return JSON.parse(token) as string;
    return token === 'null' ? null : token === 'true' || token === 'false' ? token === 'true' : { number: token };
  };
  const elements = (): Plain[] => {
    const found: Plain[] = [];
    while (tokens[at] !== ']') {
      found.push(value());
      if (tokens[at] === ',') at++;
    }
    at++;
    return found;
  };
  const members = (): [string, Plain][] => {
    const found: [string, Plain][] = [];
    while (tokens[at] !== '}') {
      const name = JSON.parse(tokens[at]!) as string;
      at += 2;
      found.push([name, value()]);
      if (tokens[at] === ',') at++;
    }
    at++;
    return found;
  };
  return value();
}

export function isMembers(value: Plain | undefined): value is Members {
  return typeof value === 'object' && value !== null && 'members' in value;
}

export function isNumeral(value: Plain | undefined): value is Numeral {
  return typeof value === 'object' && value !== null && 'number' in value;
}

/** The member of that name; of several the last. */
export function member(of: Members, name: string): Plain | undefined {
  return of.members.findLast(([one]) => one === name)?.[1];
}

/** Levels of objects and lists, the value itself being 1; 0 for anything else. */
export function depthOf(value: Plain): number {
  const inner = isMembers(value)
    ? value.members.map(([, one]) => one)
    : Array.isArray(value)
      ? (value as Plain[])
      : null;
  return inner === null ? 0 : 1 + inner.reduce((most: number, one) => Math.max(most, depthOf(one)), 0);
}

/** Whether an object in it has two members of one name, once names are spelled as `spell` says. */
export function hasTwins(value: Plain, spell: (name: string) => string = (name) => name): boolean {
  if (isMembers(value)) {
    const names = value.members.map(([name]) => spell(name));
    return new Set(names).size < names.length || value.members.some(([, one]) => hasTwins(one, spell));
  }
  return Array.isArray(value) && (value as Plain[]).some((one) => hasTwins(one, spell));
}

/** As warehouses hold it: without NUL, and U+FFFD in the place of half a character. */
export function fixed(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

/** The same with every text fixed. */
export function fixedValue(value: Plain): Plain {
  if (typeof value === 'string') return fixed(value);
  if (isMembers(value)) return { members: value.members.map(([name, one]) => [fixed(name), fixedValue(one)]) };
  return Array.isArray(value) ? (value as Plain[]).map(fixedValue) : value;
}

/** A decimal number as its digits and the power of ten that they are counted in; null for what is no number of JSON. */
export function decimalOf(literal: string): { readonly digits: bigint; readonly power: number } | null {
  const parts = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(literal);
  if (!parts) return null;
  const [, sign, whole = '', fraction = '', power = '0'] = parts;
  const digits = BigInt(whole + fraction);
  return { digits: sign === '-' ? -digits : digits, power: Number(power) - fraction.length };
}

/** The number in units of 10^-places, half away from zero, and whether something was lost. */
export function scaled(
  literal: string,
  places: number,
): { readonly units: bigint; readonly isRounded: boolean } | null {
  const decimal = decimalOf(literal);
  if (decimal === null) return null;
  const shift = decimal.power + places;
  if (shift >= 0) return { units: decimal.digits * 10n ** BigInt(shift), isRounded: false };
  const unit = 10n ** BigInt(-shift);
  const size = decimal.digits < 0n ? -decimal.digits : decimal.digits;
  const units = (2n * size + unit) / (2n * unit);
  return { units: decimal.digits < 0n ? -units : units, isRounded: size % unit !== 0n };
}
