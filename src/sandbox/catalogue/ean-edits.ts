/** What was changed about single EANs since the world began: what the retailer API and the catalogue say of them. */
import type { Rate, Reduction } from './amounts.ts';

/** Members that are absent are as the seed made them. */
export interface EanEdit {
  /** Whether the retailer API knows it. The catalogue is not asked. */
  readonly isKnown?: boolean;
  readonly rate?: Partial<Rate>;
  /** Instead of those of its campaigns; undefined again: those of its campaigns. */
  readonly reductions?: readonly Reduction[] | undefined;
  readonly title?: string;
  readonly offer?: OfferEdit;
  /** By country code. */
  readonly offered?: Readonly<Record<string, boolean>>;
}

export interface OfferEdit {
  readonly priceCents?: number;
  /** null: none. */
  readonly strikethroughCents?: number | null;
  readonly deliveryDescription?: string;
}

export class EanEdits {
  readonly #byEan = new Map<string, EanEdit>();

  of(ean: string): EanEdit | undefined {
    return this.#byEan.get(ean);
  }

  /** Members of `edit` replace what was known of the EAN. */
  edit(ean: string, edit: EanEdit): void {
    this.#byEan.set(ean, { ...this.#byEan.get(ean), ...edit });
  }
}
