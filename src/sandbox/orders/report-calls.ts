/** Endpoints 3, 4 and 5: the checks of a report's dates, and its answer under the shape and item faults that strike it. */
import { type Day, type DayRange, isDay } from '../../core/days.ts';
import { itemUnder } from '../faults/item-faults.ts';
import type { CallFaults, Shape } from '../faults/kinds.ts';
import { type Answer, badRequest, type Call, JSON_TYPE, type Violation } from '../http/call.ts';
import type { ReportName } from '../report-name.ts';
import type { OrderParts } from './bytes.ts';
import { type Frame, ITEMS_FRAME, reportPieces } from './reports.ts';

const FRAMES: Readonly<Record<'array' | 'trailing-text' | 'second-document' | 'trailing-comma', Frame>> = {
  array: { open: '[', close: ']' },
  'trailing-text': { open: '{"items":[', close: ']}\nOK' },
  'second-document': { open: '{"items":[', close: ']}{"items":[]}' },
  'trailing-comma': { open: '{"items":[', close: ',]}' },
};

/** Answers without any items. */
const BODIES: Readonly<Record<'no-items' | 'null-items' | 'text-items' | 'empty', string>> = {
  'no-items': '{}',
  'null-items': '{"items":null}',
  'text-items': '{"items":"none"}',
  empty: '',
};

function dateOf(call: Call, name: 'startDate' | 'endDate'): Day | Violation {
  const text = call.query.get(name);
  if (text === null) return { name, reason: `Required parameter '${name}' is not present.` };
  return isDay(text) ? text : { name, reason: `'${text}' is not a date of the form yyyy-MM-dd.` };
}

function rangeOf(call: Call): DayRange | readonly Violation[] {
  const from = dateOf(call, 'startDate');
  const to = dateOf(call, 'endDate');
  if (typeof from === 'string' && typeof to === 'string')
    return from <= to ? { from, to } : [{ name: 'endDate', reason: 'endDate must not be before startDate.' }];
  return [from, to].filter((date) => typeof date !== 'string');
}

function isBodyShape(shape: Shape | undefined): shape is keyof typeof BODIES {
  return shape !== undefined && shape in BODIES;
}

export function reportAnswer(parts: OrderParts, report: ReportName, call: Call, faults: CallFaults): Answer {
  const range = rangeOf(call);
  if (!('from' in range)) return badRequest(call, range);
  const headers = { 'content-type': JSON_TYPE };
  const { shape, items } = faults;
  if (isBodyShape(shape)) return { status: 200, headers, body: BODIES[shape] };
  const frame = shape === undefined ? ITEMS_FRAME : FRAMES[shape];
  const editor =
    items.length === 0 ? undefined : (text: string, position: number) => itemUnder(items, report, { text, position });
  return { status: 200, headers, body: reportPieces(parts, report, range, call.now, frame, editor) };
}
