/** Which faults there are: plain JSON, so that another process can order them. */
import type { EndpointName } from '../http/endpoints.ts';
import type { FileFault } from './file-faults.ts';
import type { AimedItemFault, ItemFault } from './item-faults.ts';

/** `any`: every call but the token's; `reports`: the three reports. */
export type FaultEndpoint = EndpointName | 'any' | 'reports';

export interface FaultAim {
  readonly endpoint: FaultEndpoint;
  /** For look-ups: only calls that ask for this EAN. */
  readonly ean?: string;
  /** How many calls it strikes; 1 unless given. */
  readonly times?: number;
  /** How many calls that it fits it lets pass first; 0 unless given. */
  readonly after?: number;
}

/** Instead of the answer: the call has no result. */
export type RefusalFault =
  /** `retryAfter` is the header's text, `4` or a date; without it there is no such header. 500 is HTML. */
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: string }
  /** Status 200 and a page of HTML. */
  | { readonly kind: 'html' }
  /** Status 200, called JSON, which it is not. */
  | { readonly kind: 'garbage' }
  /** 401, and no token that was issued until now is accepted any more. */
  | { readonly kind: 'revoke-tokens' }
  /** The connection is reset before anything is answered. */
  | { readonly kind: 'reset' };

/** The answer, sent badly. Bytes are counted before compression. */
export type DeliveryFault =
  | { readonly kind: 'slow-headers'; readonly delayMs: number }
  /** The connection is destroyed after so many bytes of the body. */
  | { readonly kind: 'cut'; readonly bytes: number }
  /** The body ends in good order after so many bytes. */
  | { readonly kind: 'truncate'; readonly bytes: number }
  /** After so many bytes of the body nothing comes any more. */
  | { readonly kind: 'stall'; readonly bytes: number }
  /** Where gzip was asked for: the checksum at the end is wrong. */
  | { readonly kind: 'gzip-checksum' };

export type Shape =
  | 'array'
  | 'no-items'
  | 'null-items'
  /** A text where the list should be. */
  | 'text-items'
  | 'empty'
  | 'trailing-text'
  | 'second-document'
  | 'trailing-comma';

/**
 * A report or a look-up whose frame is wrong. The items, where there are any, are sound. A single record has no list: there
 * `no-items` is `{}`, `null-items` is `null`, and `text-items` a text.
 */
export interface ShapeFault {
  readonly kind: 'shape';
  readonly shape: Shape;
}

export type AnswerFault = RefusalFault | DeliveryFault | ShapeFault;
export type Fault = FaultAim & (AnswerFault | ItemFault | FileFault);

export interface CallFaults {
  readonly refusal: RefusalFault | undefined;
  readonly delivery: DeliveryFault | undefined;
  readonly shape: Shape | undefined;
  readonly items: readonly AimedItemFault[];
  readonly file: readonly FileFault[];
}

/** What a fault is aimed by. */
export interface FaultTarget {
  readonly endpoint: EndpointName;
  readonly asksFor: (ean: string) => boolean;
}
