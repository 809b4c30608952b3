/** What the service sent, as one JSON document that keeps every digit, shows no secret and does nothing to a terminal. */

import { escapedJson, redact } from '../../core/redact.ts';
import { type ExactJson, exactText, isExactArray, isExactObject } from '../../json/exact-json.ts';
import type { Writer } from '../print/screen.ts';

/** Prints the document; an object is a map, so that no member name means anything to the language. */
export function printForeignJson(out: Writer, document: ExactJson, secrets: readonly string[]): void {
  out.write(`${escapedJson(indented(document, secrets, '\n'))}\n`);
}

/** An object of the given members, in their order. */
export function exactObject(members: Readonly<Record<string, ExactJson>>): ExactJson {
  return new Map(Object.entries(members));
}

function indented(value: ExactJson, secrets: readonly string[], margin: string): string {
  const inner = `${margin}  `;
  const framed = (open: string, parts: readonly string[], close: string) =>
    parts.length === 0 ? open + close : `${open}${inner}${parts.join(`,${inner}`)}${margin}${close}`;
  const text = (one: string) => JSON.stringify(redact(one, secrets));
  if (typeof value === 'string') return text(value);
  if (isExactArray(value)) {
    const elements = value.map((one) => indented(one, secrets, inner));
    return framed('[', elements, ']');
  }
  if (!isExactObject(value)) return exactText(value);
  const members = [...value].map(([name, one]) => `${text(name)}: ${indented(one, secrets, inner)}`);
  return framed('{', members, '}');
}
