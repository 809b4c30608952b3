/** What the retailer API knows, and how it answers in the cases that the specification leaves open. */
import { EtlError } from '../../core/errors.ts';
import type { World } from '../world.ts';
import { type Entry, entryOf, firstEans } from './assortment.ts';
import { PRODUCTS } from './catalogue.ts';
import { Exports } from './exports.ts';

/** What a bulk request with an EAN that nobody knows comes to. */
export interface UnknownEan {
  /**
   * `refuse`: nothing is answered, and the reason names the EANs. `refuse-unnamed`: it does not name them. `leave-out`: the
   * others are answered.
   */
  readonly as: 'refuse' | 'refuse-unnamed' | 'leave-out';
  /** Of the refusal. */
  readonly status: 400 | 404;
}

export const UNKNOWN_EAN_WAYS: readonly string[] = [
  'refuse',
  'refuse-unnamed',
  'leave-out',
] satisfies UnknownEan['as'][];
export const UNKNOWN_EAN_STATUSES: readonly number[] = [400, 404] satisfies UnknownEan['status'][];

export class Retailer {
  readonly world: World;
  readonly exports: Exports;
  readonly #seriesLength: number;
  unknownEan: UnknownEan;

  /** `seriesLength` EANs are known beyond the catalogue. */
  constructor(world: World, seriesLength: number, unknownEan: UnknownEan) {
    this.world = world;
    this.#seriesLength = seriesLength;
    this.unknownEan = unknownEan;
    this.exports = new Exports(world, seriesLength);
  }

  /** undefined for an EAN that is not known. */
  entryOf(ean: string): Entry | undefined {
    return entryOf(this.world, this.#seriesLength, ean);
  }

  /** The first EANs that were known when the sandbox began: those of the catalogue, then the series. Refuses (usage) more. */
  eans(count: number): string[] {
    const known = PRODUCTS + this.#seriesLength;
    if (!(Number.isInteger(count) && count >= 0 && count <= known))
      throw new EtlError('usage', 'bad_control', `there are ${known} EANs, not ${count}`, {
        hint: 'start the sandbox with a longer series (seriesLength)',
      });
    return firstEans(this.world, count);
  }
}
