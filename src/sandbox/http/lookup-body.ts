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

/** A value with what stands around it in the answer. */
interface Frame {
  readonly before: string;
  readonly value: string;
  readonly after: string;
  /** What an array of the records would hold. */
  readonly records: string;
  /** A sound answer about nothing. */
  readonly nothing: string;
}

/** Bulk commissions are a list under a name. */
const listFrame = (records: string): Frame => ({
  before: '{"commissions":',
  value: `[${records}]`,
  after: '}',
  records,
  nothing: '{"commissions":[]}',
});

/** A single commission or a product is the whole answer. */
const recordFrame = (record: string): Frame => ({
  before: '',
  value: record,
  after: '',
  records: record,
  nothing: '{}',
});

const whole = ({ before, value, after }: Frame) => `${before}${value}${after}`;

const SHAPED: Readonly<Record<Shape, (frame: Frame) => string>> = {
  array: ({ records }) => `[${records}]`,
  'no-items': () => '{}',
  'null-items': ({ before, after }) => `${before}null${after}`,
  'text-items': ({ before, after }) => `${before}"none"${after}`,
  empty: () => '',
  'trailing-text': (frame) => `${whole(frame)}\nOK`,
  'second-document': (frame) => whole(frame) + frame.nothing,
  'trailing-comma': ({ before, value, after }) => `${before}${value.slice(0, -1)},${value.slice(-1)}${after}`,
};

/** The answer's body. Under faults it is bytes, since what they write need not be UTF-8. */
export function lookupBody(
  endpoint: KeysCall,
  records: readonly LookupRecord[],
  { shape, items }: CallFaults,
): string | Iterable<Buffer> {
  const frameOf = endpoint === 'commission-bulk' ? listFrame : recordFrame;
  if (shape === undefined && items.length === 0) return whole(frameOf(records.map(({ text }) => text).join(',')));
  const texts = records.map(({ ean, text }, position) =>
    itemUnder(items, endpoint, { text: asBytes(text), position, ean }),
  );
  const frame = frameOf(texts.filter((text) => text !== '').join(','));
  return [Buffer.from(shape === undefined ? whole(frame) : SHAPED[shape](frame), 'latin1')];
}
