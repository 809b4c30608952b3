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

/** Texts that stand in JSON as they are: most of them, and JSON.stringify takes far longer to see that. */
const SIMPLE = /^[\w .:/+-]*$/;

function quoted(text: string): string {
  return SIMPLE.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Like JSON.stringify, compact; members that are undefined are left out. */
export function jsonText(value: Json): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Decimal) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  const members = value as Readonly<Record<string, Json | undefined>>;
  let text = '';
  for (const field in members) {
    const member = members[field];
    if (member !== undefined) text += `${text === '' ? '' : ','}${quoted(field)}:${jsonText(member)}`;
  }
  return `{${text}}`;
}

/** A value with its decimals as text, as a truth shows it. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [field: string]: Plain };

/** The value with its decimals as text; members that are undefined are left out. */
export function plain(value: Json): Plain {
  if (value instanceof Decimal) return value.text;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value as Plain;
  const members = Object.entries(value as Record<string, Json | undefined>).filter(([, m]) => m !== undefined);
  return Object.fromEntries(members.map(([field, member]) => [field, plain(member!)]));
}

const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Parses JSON with every number as its text; undefined when it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(TEXT_OR_NUMBER, (token) => (token[0] === '"' ? token : `"${token}"`)));
  } catch {
    return undefined;
  }
}
