/** JSON with exact decimals: amounts go out and come in as their digits, never through a floating-point number. */

/** An exact decimal, written as a JSON number. */
export class Decimal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Json =
  | string
  | number
  | boolean
  | null
  | Decimal
  | readonly Json[]
  | { readonly [field: string]: Json | undefined };

/** Like JSON.stringify, compact; members that are undefined are left out. */
export function jsonText(value: Json): string {
  if (value instanceof Decimal) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value as Record<string, Json | undefined>).filter(
    ([, member]) => member !== undefined,
  );
  return `{${members.map(([field, member]) => `${JSON.stringify(field)}:${jsonText(member!)}`).join(',')}}`;
}

const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Parses JSON with every number as its text; undefined when it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(TEXT_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`)));
  } catch {
    return undefined;
  }
}
