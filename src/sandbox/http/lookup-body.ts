/** The body of a look-up's answer: its records as they are, or under the shape and item faults that strike the call. */

import { itemUnder } from '../faults/item-faults.ts';
import type { CallFaults, Shape } from '../faults/kinds.ts';
import type { KeysCall } from './endpoints.ts';
import { asBytes } from './pieces.ts';

/** What a look-up says of one EAN. */
export interface LookupRecord {
  readonly ean: string;
  /** JSON. */
  readonly text: string;
}

/** Bulk commissions are a list under a name. */
function framedList(list: string, shape: Shape | undefined): string {
  const whole = `{"commissions":[${list}]}`;
  switch (shape) {
    case undefined:
      return whole;
    case 'array':
      return `[${list}]`;
    case 'no-items':
      return '{}';
    case 'null-items':
      return '{"commissions":null}';
    case 'text-items':
      return '{"commissions":"none"}';
    case 'empty':
      return '';
    case 'trailing-text':
      return `${whole}\nOK`;
    case 'second-document':
      return `${whole}{"commissions":[]}`;
    case 'trailing-comma':
      return `{"commissions":[${list},]}`;
  }
}

/** A single commission or a product is the whole answer. */
function framedRecord(record: string, shape: Shape | undefined): string {
  switch (shape) {
    case undefined:
      return record;
    case 'array':
      return `[${record}]`;
    case 'no-items':
      return '{}';
    case 'null-items':
      return 'null';
    case 'text-items':
      return '"none"';
    case 'empty':
      return '';
    case 'trailing-text':
      return `${record}\nOK`;
    case 'second-document':
      return `${record}{}`;
    case 'trailing-comma':
      return `${record.slice(0, -1)},}`;
  }
}

/** The answer's body. Under faults it is bytes, since what they write need not be UTF-8. */
export function lookupBody(
  endpoint: KeysCall,
  records: readonly LookupRecord[],
  { shape, items }: CallFaults,
): string | Iterable<Buffer> {
  const framed = endpoint === 'commission-bulk' ? framedList : framedRecord;
  if (shape === undefined && items.length === 0) return framed(records.map(({ text }) => text).join(','), undefined);
  const texts = records.map(({ ean, text }, position) =>
    itemUnder(items, endpoint, { text: asBytes(text), position, ean }),
  );
  return [Buffer.from(framed(texts.filter((text) => text !== '').join(','), shape), 'latin1')];
}
