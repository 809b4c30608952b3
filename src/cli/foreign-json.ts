/** What the service sent, as one JSON document that keeps every digit, shows no secret and does nothing to a terminal. */
import { type ExactJson, exactText, isExactArray, isExactObject } from '../core/exact-json.ts';
import { redact } from '../core/redact.ts';
import type { Writer } from './screen.ts';

/** JSON would let these through, and a terminal would act on them: as escapes they mean the same to whoever reads JSON. */
const UNSEEN = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Prints the document; an object is a map, so that no member name means anything to the language. */
export function printForeignJson(out: Writer, document: ExactJson, secrets: readonly string[]): void {
  const text = indented(document, secrets, '\n').replaceAll(UNSEEN, (unseen) =>
    Array.from(unseen.split(''), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  );
  out.write(`${text}\n`);
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
