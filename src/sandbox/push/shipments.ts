/** Shipments, which a carrier moves on, and the events of that. */

import { dutchIso } from '../dutch-time.ts';
import { type Answer, type Call, json, notFound, retailerType, versionOf } from '../http/call.ts';
import { refusedMedia } from '../http/media.ts';
import type { PushEvent } from './push.ts';

/** The way of a parcel; it stays where it ends, and the carrier may say so again. */
const STATUSES = ['PRE_ANNOUNCED', 'AT_TRANSPORTER', 'IN_TRANSIT', 'DELIVERED_AT_CUSTOMER'] as const;

interface Shipment {
  readonly id: string;
  /** When the carrier reported each status, milliseconds since the epoch; one status after the other. */
  readonly reportedAt: number[];
}

const FIRST_ID = 700_000_000;

const statusAt = (event: number) => STATUSES[Math.min(event, STATUSES.length - 1)]!;

/** What happened, and when. */
export interface ShipmentEvent {
  readonly event: PushEvent;
  readonly handledAt: number;
}

export class Shipments {
  readonly #known = new Map<string, Shipment>();
  #made = 0;

  /** Moves a shipment on, or makes it, under an id of its own unless given. `baseUrl` is what its link begins with. */
  move(shipmentId: string | undefined, now: number, baseUrl: string): ShipmentEvent {
    const id = shipmentId ?? String(FIRST_ID + ++this.#made);
    const shipment = this.#known.get(id) ?? { id, reportedAt: [] };
    this.#known.set(id, shipment);
    // No two events of a shipment have the same time: their messages could not be known from each other.
    const handledAt = Math.max(now, (shipment.reportedAt.at(-1) ?? Number.NEGATIVE_INFINITY) + 1);
    shipment.reportedAt.push(handledAt);
    const event: PushEvent = {
      resource: 'SHIPMENT',
      type: 'UPDATE_TRANSPORT_EVENT',
      resourceId: id,
      metadata: [
        { key: 'eventCode', value: statusAt(shipment.reportedAt.length - 1) },
        { key: 'transporterCode', value: 'TNT' },
      ],
      links: [{ method: 'GET', href: `${baseUrl}/retailer/shipments/${id}` }],
    };
    return { event, handledAt };
  }

  /** The address that the messages link to. */
  answer(call: Call): Answer {
    const refused = refusedMedia(call);
    if (refused !== undefined) return refused;
    const shipment = this.#known.get(call.parameters.id ?? '');
    if (shipment === undefined) return notFound(call);
    const { id: shipmentId, reportedAt } = shipment;
    const events = reportedAt.map((at, i) => ({ eventCode: statusAt(i), eventDateTime: dutchIso(at) }));
    const transport = { transporterCode: 'TNT', status: statusAt(reportedAt.length - 1), events };
    return json(200, { shipmentId, transport }, retailerType(versionOf(call)));
  }
}
