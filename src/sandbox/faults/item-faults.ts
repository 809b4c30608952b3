/**
 * Faults of single items of a report, and of single records of a look-up: they change what is written for an item, never what is true.
 *
 * `item` is the position in the answer, from 0 (the default), or `all`; a fault that is aimed at an EAN strikes the records
 * of that EAN unless `item` is given. `as` says whether the damaged text stands
 * `instead` of the item or as an `extra` one before it. Unless given, damage that leaves a loadable item stands instead
 * (and, but for `raw-value` and `lone-surrogate`, the loaded value stays the true one), and damage that makes an item
 * unloadable is an extra one: so a warehouse that sets it aside still equals the truth. An answer that is one record has
 * no room for an extra one, so all damage stands instead of it.
 */

import { checkDigit } from '../catalogue/catalogue.ts';
import type { KeysCall } from '../http/endpoints.ts';
import type { ReportName } from '../report-name.ts';

export interface ItemAim {
  readonly item?: number | 'all';
  readonly as?: 'extra' | 'instead';
}

export type ItemFault = ItemAim &
  (
    | { readonly kind: 'unknown-field'; readonly field?: string /** JSON text. */; readonly json?: string }
    | { readonly kind: 'number-as-text'; readonly field?: string }
    /** The same value as `121e-1`. */
    | { readonly kind: 'exponent-number'; readonly field?: string }
    /** Eight digits after the point, which round to the true value. */
    | { readonly kind: 'many-decimals'; readonly field?: string }
    /** Any JSON text as the value of a field. */
    | { readonly kind: 'raw-value'; readonly field: string; readonly json: string }
    /** U+0000, as an escape, at the end of a text. */
    | { readonly kind: 'nul-escape'; readonly field?: string }
    /** Half of a surrogate pair, as an escape, at the end of a text. */
    | { readonly kind: 'lone-surrogate'; readonly field?: string }
    | { readonly kind: 'missing-field'; readonly field?: string }
    | { readonly kind: 'other-day'; readonly day: string }
    /** The item twice, byte for byte. */
    | { readonly kind: 'duplicate' }
    /** The item twice: first with another amount, then as it truly is. */
    | { readonly kind: 'conflicting-duplicate'; readonly field?: string }
    | { readonly kind: 'null-item' }
    | { readonly kind: 'text-item' }
    | { readonly kind: 'invalid-utf8'; readonly field?: string }
    /** A field twice in one item. */
    | { readonly kind: 'duplicate-key'; readonly field?: string }
    /** A control character inside a text, not escaped. */
    | { readonly kind: 'raw-control'; readonly field?: string }
    /** A field of so many bytes; more than any limit unless given. */
    | { readonly kind: 'huge-item'; readonly bytes?: number }
    /** The record is not in the answer, although its EAN is known: for bulk commissions. */
    | { readonly kind: 'left-out' }
    /** The record of an EAN that was not asked for: for look-ups. */
    | { readonly kind: 'unasked'; readonly otherEan?: string }
  );

export type ItemFaultKind = ItemFault['kind'];

const UNLOADABLE: readonly ItemFaultKind[] = [
  'missing-field',
  'other-day',
  'duplicate',
  'conflicting-duplicate',
  'null-item',
  'text-item',
  'invalid-utf8',
  'duplicate-key',
  'raw-control',
  'huge-item',
  'unasked',
];
const LOADABLE: readonly ItemFaultKind[] = [
  'unknown-field',
  'number-as-text',
  'exponent-number',
  'many-decimals',
  'raw-value',
  'nul-escape',
  'lone-surrogate',
  'left-out',
];

export const ITEM_FAULT_KINDS: ReadonlySet<string> = new Set([...UNLOADABLE, ...LOADABLE]);

const UNASKED_EAN = `899999999999${checkDigit('899999999999')}`;
const HUGE_BYTES = 5 * 1024 * 1024;

/** The fields that faults damage when none is named. */
interface UsualFields {
  readonly key: string;
  /** null: such items have none. */
  readonly day: string | null;
  readonly text: string;
  readonly amount: string;
}

const COMMISSION: UsualFields = { key: 'ean', day: null, text: 'condition', amount: 'percentage' };

const USUAL: Readonly<Record<ReportName | KeysCall, UsualFields>> = {
  promotions: { key: 'date', day: 'date', text: 'siteName', amount: 'commission' },
  orders: { key: 'orderItemId', day: 'orderDate', text: 'productTitle', amount: 'commission' },
  commissions: { key: 'orderDate', day: 'orderDate', text: 'siteName', amount: 'commissionOriginal' },
  commission: COMMISSION,
  'commission-bulk': COMMISSION,
  product: { key: 'ean', day: null, text: 'title', amount: 'price' },
};

/** A member of an item's text. Items are flat, and quotes inside their texts are escaped. */
function memberSource(field: string): string {
  return `("${field}":)("(?:[^"\\\\]|\\\\.)*"|[^,}]+)`;
}

function withValue(text: string, field: string, change: (value: string) => string): string {
  return text.replace(new RegExp(memberSource(field)), (_, name: string, value: string) => name + change(value));
}

/** Puts characters before the closing quote of a text; other values stay. */
function appended(text: string, field: string, characters: string): string {
  return withValue(text, field, (value) => (value.endsWith('"') ? `${value.slice(0, -1)}${characters}"` : value));
}

function withMember(text: string, member: string): string {
  return `${text.slice(0, -1)},${member}}`;
}

function withoutMember(text: string, field: string): string {
  const member = memberSource(field);
  return text.replace(new RegExp(`,${member}|${member},`), '');
}

function exponent(value: string): string {
  const [whole, decimals = ''] = value.split('.');
  const digits = `${whole}${decimals}`.replace(/^0+(?=\d)/, '');
  return `${digits}e${decimals === '' ? '0' : `-${decimals.length}`}`;
}

/** Digits from the seventh place on that leave the first six as they are, also when rounded half up. */
function eightDecimals(value: string): string {
  const [whole, decimals = ''] = value.split('.');
  return `${whole}.${decimals.padEnd(6, '0')}49`;
}

/** The item as the fault writes it. */
function damaged(fault: ItemFault, text: string, usual: UsualFields): string {
  switch (fault.kind) {
    case 'unknown-field':
      return withMember(text, `"${fault.field ?? 'surprise'}":${fault.json ?? '"new"'}`);
    case 'number-as-text':
      return withValue(text, fault.field ?? usual.amount, (value) => `"${value}"`);
    case 'exponent-number':
      return withValue(text, fault.field ?? usual.amount, exponent);
    case 'many-decimals':
      return withValue(text, fault.field ?? usual.amount, eightDecimals);
    case 'raw-value':
      return withValue(text, fault.field, () => fault.json);
    case 'nul-escape':
      return appended(text, fault.field ?? usual.text, '\\u0000');
    case 'lone-surrogate':
      return appended(text, fault.field ?? usual.text, '\\ud800');
    case 'missing-field':
      return withoutMember(text, fault.field ?? usual.key);
    case 'other-day':
      return usual.day === null ? text : withValue(text, usual.day, () => `"${fault.day}"`);
    case 'left-out':
      return '';
    case 'unasked':
      return withValue(text, 'ean', () => `"${fault.otherEan ?? UNASKED_EAN}"`);
    case 'duplicate':
      return text;
    case 'conflicting-duplicate':
      return withValue(text, fault.field ?? usual.amount, (value) => (value === '0.01' ? '0.02' : '0.01'));
    case 'null-item':
      return 'null';
    case 'text-item':
      return '"not an item"';
    case 'invalid-utf8':
      return appended(text, fault.field ?? usual.text, '\xff');
    case 'duplicate-key': {
      const member = new RegExp(memberSource(fault.field ?? usual.amount)).exec(text);
      return member ? withMember(text, member[0]) : text;
    }
    case 'raw-control':
      return appended(text, fault.field ?? usual.text, '\x01');
    case 'huge-item':
      return withMember(text, `"huge":"${'x'.repeat(fault.bytes ?? HUGE_BYTES)}"`);
  }
}

/** An item fault of a call; `ean` is the one that it is aimed at. */
export type AimedItemFault = ItemFault & { readonly ean?: string };

/** An item as a sound answer has it. */
export interface SoundItem {
  readonly text: string;
  /** From 0. */
  readonly position: number;
  readonly ean?: string;
}

function strikes({ item, ean }: AimedItemFault, { position, ean: itemEan }: SoundItem): boolean {
  if (item === undefined && ean !== undefined) return ean === itemEan;
  return item === 'all' || (item ?? 0) === position;
}

/** What stands in the answer for an item under all its faults, in their order; '' for nothing. Text is one-byte text. */
export function itemUnder(
  faults: readonly AimedItemFault[],
  endpoint: ReportName | KeysCall,
  sound: SoundItem,
): string {
  const usual = USUAL[endpoint];
  const isAlone = endpoint === 'commission' || endpoint === 'product';
  const extras: string[] = [];
  let item = sound.text;
  for (const fault of faults) {
    if (!strikes(fault, sound)) continue;
    const as = isAlone ? 'instead' : (fault.as ?? (UNLOADABLE.includes(fault.kind) ? 'extra' : 'instead'));
    if (as === 'extra') extras.push(damaged(fault, sound.text, usual));
    else item = damaged(fault, item, usual);
  }
  return [...extras, item].filter((text) => text !== '').join(',');
}
