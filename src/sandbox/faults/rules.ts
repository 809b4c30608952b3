/** Which faults there are, which calls they fit, and what is refused because it could never strike. */
import { EtlError } from '../../core/errors.ts';
import { isEan } from '../catalogue/catalogue.ts';
import { ENDPOINTS, type EndpointName, isLookup, isReport } from '../http/endpoints.ts';
import { FILE_FAULT_KINDS, type FileFault, VERBATIM_FORMS } from './file-faults.ts';
import { ITEM_FAULT_KINDS, type ItemFault } from './item-faults.ts';
import type { AnswerFault, DeliveryFault, Fault, FaultAim, FaultEndpoint, FaultTarget, RefusalFault } from './kinds.ts';

const REFUSALS: readonly string[] = ['status', 'html', 'garbage', 'revoke-tokens', 'reset'];
const DELIVERIES: readonly string[] = ['slow-headers', 'cut', 'truncate', 'stall', 'gzip-checksum'];
const KINDS = new Set<string>([...REFUSALS, ...DELIVERIES, 'shape', ...ITEM_FAULT_KINDS, ...FILE_FAULT_KINDS]);
const ENDPOINT_NAMES = new Set<string>([...ENDPOINTS.map((e) => e.name), 'any', 'reports']);

type Kind = Fault['kind'];

/** Members without which a fault of a kind says nothing: their types, or all their values. */
const NEEDED: Readonly<Partial<Record<Kind, Readonly<Record<string, string | readonly string[]>>>>> = {
  status: { status: 'number' },
  'slow-headers': { delayMs: 'number' },
  cut: { bytes: 'number' },
  truncate: { bytes: 'number' },
  stall: { bytes: 'number' },
  shape: {
    shape: [
      'array',
      'no-items',
      'null-items',
      'text-items',
      'empty',
      'trailing-text',
      'second-document',
      'trailing-comma',
    ],
  },
  'raw-value': { field: 'string', json: 'string' },
  'other-day': { day: 'string' },
  disposition: {
    form: ['unquoted', 'quoted', 'extended', 'both', 'two-names', 'two-headers', 'nameless', 'missing'],
  },
  'announced-name': { name: 'string' },
  'broken-line': {
    how: [
      'few-fields',
      'many-fields',
      'bad-number',
      'bad-day',
      'bad-ean',
      'open-quote',
      'invalid-utf8',
      'nul',
      'duplicate',
      'text',
    ],
  },
  'file-content': { content: ['empty', 'header-only'] },
};

/** Kinds that fit only some of the calls that have items. */
const ONLY_FOR: Readonly<Partial<Record<Kind, (endpoint: FaultEndpoint) => boolean>>> = {
  'other-day': (endpoint) => endpoint === 'reports' || isReport(endpoint),
  unasked: isLookup,
  'left-out': (endpoint) => endpoint === 'commission-bulk',
  duplicate: hasList,
  'conflicting-duplicate': hasList,
};

const LINE_ENDS: readonly unknown[] = [undefined, 'lf', 'crlf', 'cr'];

/** What no header can carry as it stands. */
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;

export const isRefusal = (fault: AnswerFault): fault is RefusalFault => REFUSALS.includes(fault.kind);
export const isDelivery = (fault: AnswerFault): fault is DeliveryFault => DELIVERIES.includes(fault.kind);
export const isItemFault = (fault: Fault): fault is FaultAim & ItemFault => ITEM_FAULT_KINDS.has(fault.kind);
export const isFileFault = (fault: Fault): fault is FaultAim & FileFault => FILE_FAULT_KINDS.has(fault.kind);
export const isAnswerFault = (fault: Fault): fault is FaultAim & AnswerFault =>
  !isItemFault(fault) && !isFileFault(fault);

function hasList(endpoint: FaultEndpoint): boolean {
  return endpoint === 'reports' || isReport(endpoint) || endpoint === 'commission-bulk';
}

function fitsEndpoint(aim: FaultEndpoint, endpoint: EndpointName): boolean {
  if (aim === 'any') return endpoint !== 'token';
  return aim === 'reports' ? isReport(endpoint) : aim === endpoint;
}

/** Whether a fault may strike a call. */
export function fits(fault: Fault, { endpoint, asksFor }: FaultTarget): boolean {
  return fitsEndpoint(fault.endpoint, endpoint) && (fault.ean === undefined || asksFor(fault.ean));
}

function refuse(message: string, hint: string): EtlError {
  return new EtlError('usage', 'bad_fault', message, { hint });
}

function checkEndpoint(fault: Fault): void {
  const { kind, endpoint, ean } = fault;
  if (!ENDPOINT_NAMES.has(endpoint))
    throw refuse(`fault "${kind}": "${endpoint}" is no endpoint`, `one of ${[...ENDPOINT_NAMES].join(', ')}`);
  const needsItems = kind === 'shape' || isItemFault(fault);
  if (needsItems && endpoint !== 'reports' && !isReport(endpoint) && !isLookup(endpoint))
    throw refuse(`fault "${kind}": ${endpoint} has no items`, 'aim it at a report, at reports or at a look-up');
  if (ONLY_FOR[kind]?.(endpoint) === false)
    throw refuse(`fault "${kind}": it does not fit ${endpoint}`, 'aim it at a call whose answer has room for it');
  const onlyAt = kind === 'announced-name' ? 'reductions-latest' : 'reductions';
  if (isFileFault(fault) && endpoint !== onlyAt)
    throw refuse(`fault "${kind}": it does not fit ${endpoint}`, `aim it at ${onlyAt}`);
  if (ean !== undefined && !(isLookup(endpoint) && isEan(ean)))
    throw refuse(`fault "${kind}": ean "${ean}" cannot be asked for there`, 'a sound EAN, and a look-up');
}

function checkMembers(fault: Fault): void {
  const { kind } = fault;
  for (const [member, accepted] of Object.entries(NEEDED[kind] ?? {})) {
    const value: unknown = Reflect.get(fault, member);
    if (typeof accepted === 'string') {
      const found = value === undefined ? 'missing' : `no ${accepted}`;
      if (typeof value !== accepted) throw refuse(`fault "${kind}": ${member} is ${found}`, `give it as a ${accepted}`);
    } else if (!accepted.includes(value as string))
      throw refuse(`fault "${kind}": ${member} "${String(value)}" is not accepted`, `one of ${accepted.join(', ')}`);
  }
  if ((fault.times ?? 1) < 1 || (fault.after ?? 0) < 0)
    throw refuse(`fault "${kind}": impossible count`, 'times is 1 or more, after is 0 or more');
}

/** Names that the HTTP server could not write, and forms that the file cannot have. */
function checkFileFault(fault: FileFault): void {
  if (fault.kind === 'disposition' && fault.name !== undefined) {
    if (!fault.name.isWellFormed()) throw refuse('fault "disposition": the name is no text', 'no half surrogates');
    if (VERBATIM_FORMS.includes(fault.form) && CONTROL.test(fault.name))
      throw refuse(`fault "disposition": no header can carry this name ${fault.form}`, 'take the form extended');
  }
  if (fault.kind === 'file-format' && !LINE_ENDS.includes(fault.lineEnd))
    throw refuse(`fault "file-format": lineEnd "${fault.lineEnd}" is not accepted`, 'lf, crlf or cr');
}

/** The fault; refuses (usage) what is none, or could never strike. */
export function checkedFault(fault: Fault): Fault {
  const { kind } = fault;
  if (!KINDS.has(kind)) throw refuse(`"${kind}" is no kind of fault`, `one of ${[...KINDS].join(', ')}`);
  checkEndpoint(fault);
  checkMembers(fault);
  if (isFileFault(fault)) checkFileFault(fault);
  return fault;
}
