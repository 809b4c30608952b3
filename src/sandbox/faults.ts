/**
 * Faults: what goes wrong on the way, without the world being any different. They are plain JSON, so that another
 * process can order them.
 *
 * A fault waits until `after` calls that it fits have passed, and then strikes `times` calls. One call meets at most one
 * answer fault (a further one waits for the next call) and any number of item faults; an answer that carries no items
 * uses none of them up. Only calls that came past token and budgets count.
 */
import { EtlError } from '../core/errors.ts';
import { ENDPOINTS, type EndpointName, isReport } from './endpoints.ts';
import { ITEM_FAULT_KINDS, type ItemFault } from './item-faults.ts';

/** `any`: every call but the token's; `reports`: the three reports. */
export type FaultEndpoint = EndpointName | 'any' | 'reports';

export interface FaultAim {
  readonly endpoint: FaultEndpoint;
  /** How many calls it strikes; 1 unless told. */
  readonly times?: number;
  /** How many calls that it fits it lets pass first; 0 unless told. */
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
  /** For whoever asked for gzip: the checksum at the end is wrong. */
  | { readonly kind: 'gzip-checksum' };

export type Shape =
  | 'array'
  | 'no-items'
  | 'null-items'
  | 'empty'
  | 'trailing-text'
  | 'second-document'
  | 'trailing-comma';

/** Shapes that have no room for items. */
const ITEMLESS: readonly string[] = ['no-items', 'null-items', 'empty'] satisfies readonly Shape[];

/** A report whose frame is wrong. The items, where there are any, are sound. */
export interface ShapeFault {
  readonly kind: 'shape';
  readonly shape: Shape;
}

export type AnswerFault = RefusalFault | DeliveryFault | ShapeFault;
export type Fault = FaultAim & (AnswerFault | ItemFault);

export interface CallFaults {
  readonly refusal: RefusalFault | undefined;
  readonly delivery: DeliveryFault | undefined;
  readonly shape: Shape | undefined;
  readonly items: readonly ItemFault[];
}

const REFUSALS: readonly string[] = ['status', 'html', 'garbage', 'reset'];
const DELIVERIES: readonly string[] = ['slow-headers', 'cut', 'truncate', 'stall', 'gzip-checksum'];
const KINDS = new Set<string>([...REFUSALS, ...DELIVERIES, 'shape', ...ITEM_FAULT_KINDS]);
const ENDPOINT_NAMES = new Set<string>([...ENDPOINTS.map((e) => e.name), 'any', 'reports']);

/** Members without which a fault of a kind says nothing, with their types. */
const NEEDED: Readonly<Partial<Record<Fault['kind'], Readonly<Record<string, string>>>>> = {
  status: { status: 'number' },
  'slow-headers': { delayMs: 'number' },
  cut: { bytes: 'number' },
  truncate: { bytes: 'number' },
  stall: { bytes: 'number' },
  shape: { shape: 'string' },
  'raw-value': { field: 'string', json: 'string' },
  'other-day': { day: 'string' },
};

const isRefusal = (fault: AnswerFault): fault is RefusalFault => REFUSALS.includes(fault.kind);
const isDelivery = (fault: AnswerFault): fault is DeliveryFault => DELIVERIES.includes(fault.kind);
const isItemFault = (fault: AnswerFault | ItemFault): fault is ItemFault => ITEM_FAULT_KINDS.has(fault.kind);

function fits(aim: FaultEndpoint, endpoint: EndpointName): boolean {
  if (aim === 'any') return endpoint !== 'token';
  return aim === 'reports' ? isReport(endpoint) : aim === endpoint;
}

/** Refuses (usage) what is no fault, or could never strike. */
function checked(fault: Fault): Fault {
  const { kind, endpoint } = fault;
  const refuse = (message: string, hint: string) => new EtlError('usage', 'bad_fault', message, { hint });
  if (!KINDS.has(kind)) throw refuse(`"${kind}" is no kind of fault`, `one of ${[...KINDS].join(', ')}`);
  if (!ENDPOINT_NAMES.has(endpoint))
    throw refuse(`fault "${kind}": "${endpoint}" is no endpoint`, `one of ${[...ENDPOINT_NAMES].join(', ')}`);
  const needsItems = kind === 'shape' || isItemFault(fault);
  if (needsItems && endpoint !== 'reports' && !isReport(endpoint))
    throw refuse(`fault "${kind}": ${endpoint} has no items`, 'aim it at promotions, orders, commissions or reports');
  const missing = Object.entries(NEEDED[kind] ?? {}).find(
    ([member, type]) => typeof Reflect.get(fault, member) !== type,
  );
  if (missing) throw refuse(`fault "${kind}": ${missing[0]} is missing`, `give it as a ${missing[1]}`);
  if ((fault.times ?? 1) < 1 || (fault.after ?? 0) < 0)
    throw refuse(`fault "${kind}": impossible count`, 'times is 1 or more, after is 0 or more');
  return fault;
}

interface Waiting {
  readonly fault: Fault;
  toPass: number;
  toStrike: number;
}

export class Faults {
  #waiting: Waiting[] = [];

  add(fault: Fault): void {
    this.#waiting.push({ fault: checked(fault), toPass: fault.after ?? 0, toStrike: fault.times ?? 1 });
  }

  clear(): void {
    this.#waiting = [];
  }

  /** The faults that strike this call; counts them. */
  strike(endpoint: EndpointName): CallFaults {
    const aimed = this.#waiting.filter(({ fault }) => fits(fault.endpoint, endpoint));
    let answer: AnswerFault | undefined;
    const items: ItemFault[] = [];
    for (const waiting of aimed.filter(({ fault }) => !isItemFault(fault))) {
      if (waiting.toPass > 0) waiting.toPass--;
      else if (answer === undefined) {
        waiting.toStrike--;
        answer = waiting.fault as AnswerFault;
      }
    }
    const refusal = answer !== undefined && isRefusal(answer) ? answer : undefined;
    const shape = answer?.kind === 'shape' ? answer.shape : undefined;
    const hasItems = refusal === undefined && (shape === undefined || !ITEMLESS.includes(shape));
    for (const waiting of hasItems ? aimed : []) {
      if (!isItemFault(waiting.fault)) continue;
      if (waiting.toPass > 0) waiting.toPass--;
      else {
        waiting.toStrike--;
        items.push(waiting.fault);
      }
    }
    this.#waiting = this.#waiting.filter(({ toStrike }) => toStrike > 0);
    const delivery = answer !== undefined && isDelivery(answer) ? answer : undefined;
    return { refusal, delivery, shape, items };
  }
}
