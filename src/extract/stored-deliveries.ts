/**
 * Deliveries of push messages as they lie in the raw store: what was taken in together is one object, a line of JSON each, in the
 * order in which they were stored. The body stands as text where it is UTF-8, else as base64: either way every byte comes back.
 */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isoTime } from '../core/clock.ts';
import { EtlError } from '../core/errors.ts';
import type { Masker } from '../core/masking.ts';
import type { StoredDelivery } from '../store/tables/inbox.ts';

const NEWLINE = 0x0a;

const shape = z.object({
  delivery_id: z.string(),
  received_at: z.iso.datetime(),
  source_address: z.string(),
  key_id: z.string(),
  body_sha256: z.string(),
  body: z.string().optional(),
  body_base64: z.string().optional(),
});

/** With its line break. */
export function deliveryLine(delivery: StoredDelivery): string {
  const { deliveryId, receivedAtMs, sourceAddress, keyId, bodySha256 } = delivery;
  const body = Buffer.from(delivery.body.buffer, delivery.body.byteOffset, delivery.body.byteLength);
  const line: z.infer<typeof shape> = {
    delivery_id: deliveryId,
    received_at: isoTime(receivedAtMs),
    source_address: sourceAddress,
    key_id: keyId,
    body_sha256: bodySha256,
    ...(isUtf8(body) ? { body: body.toString('utf8') } : { body_base64: body.toString('base64') }),
  };
  return `${JSON.stringify(line)}\n`;
}

/** The deliveries of an object; `name` is what errors call it. Errors: `failed/damaged_answer`. */
export async function* readDeliveries(source: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<StoredDelivery> {
  let rest = Buffer.alloc(0);
  for await (const chunk of source) {
    const bytes = Buffer.concat([rest, chunk]);
    let from = 0;
    for (let to = bytes.indexOf(NEWLINE); to >= 0; to = bytes.indexOf(NEWLINE, from)) {
      yield deliveryIn(bytes.toString('utf8', from, to), name);
      from = to + 1;
    }
    rest = bytes.subarray(from);
  }
  if (rest.length > 0) yield deliveryIn(rest.toString('utf8'), name);
}

function deliveryIn(line: string, name: string): StoredDelivery {
  try {
    const { body, body_base64, ...rest } = shape.parse(JSON.parse(line));
    return {
      deliveryId: rest.delivery_id,
      receivedAtMs: Date.parse(rest.received_at),
      sourceAddress: rest.source_address,
      keyId: rest.key_id,
      bodySha256: rest.body_sha256,
      body: body === undefined ? Buffer.from(body_base64 ?? '', 'base64') : Buffer.from(body),
    };
  } catch (cause) {
    throw new EtlError('failed', 'damaged_answer', `${name} does not hold the messages that were stored in it`, {
      cause,
      concern: { file: name },
      hint: 'restore it from a backup; the rows that were made of it are in the lake',
    });
  }
}

/** The delivery itself where nothing in it is to be replaced. */
export function maskedDelivery(delivery: StoredDelivery, masker: Masker): StoredDelivery {
  const body = masker.mask(delivery.body);
  if (body === delivery.body) return delivery;
  return { ...delivery, body, bodySha256: createHash('sha256').update(body).digest('hex') };
}
