/** Endpoints 13 and 14: what selling an EAN would cost, singly and in bulk. */
import { EtlError } from '../../core/errors.ts';
import { dayText } from '../day-text.ts';
import { dutchWall } from '../dutch-time.ts';
import type { CallFaults } from '../faults/kinds.ts';
import { type Answer, badRequest, type Call, notFound, retailerType, type Violation, versionOf } from '../http/call.ts';
import { type Json, jsonText, parseJson, plain } from '../http/json-text.ts';
import { type LookupRecord, lookupBody } from '../http/lookup-body.ts';
import { refusedMedia } from '../http/media.ts';
import { money } from '../orders/rows.ts';
import type { Reduction } from './amounts.ts';
import { centsOf } from './amounts.ts';
import { activeReductions, type Entry, rateOf, totalCents } from './assortment.ts';
import { isEan } from './catalogue.ts';
import type { Retailer } from './retailer.ts';

const BULK_LIMIT = 100;
const CONDITIONS = ['NEW', 'AS_NEW', 'GOOD', 'REASONABLE', 'MODERATE'];
const NEWEST_VERSION = 10;

interface Question {
  readonly ean: string;
  readonly condition: string;
  /** undefined when no price was asked for. */
  readonly priceCents: number | undefined;
}

/**
 * What a perfect client would hold of an answer: amounts and percentages as decimal text, absent fields left out.
 * Types, not interfaces, so that they are JSON by their shape.
 */
export type CommissionTruth = {
  readonly ean: string;
  readonly condition: string;
  readonly unitPrice?: string;
  readonly fixedAmount: string;
  readonly percentage: string;
  readonly totalCost?: string;
  readonly totalCostWithoutReduction?: string;
  readonly reductions?: readonly BoundaryTruth[];
};

type BoundaryTruth = {
  readonly maximumPrice: string;
  readonly costReduction: string;
  readonly startDate: string;
  readonly endDate: string;
};

/** `price` in version 3, `unit-price` (in bodies `unitPrice`) from version 4 on. */
function priceName(version: number, where: 'query' | 'body'): string {
  if (version === 3) return 'price';
  return where === 'query' ? 'unit-price' : 'unitPrice';
}

function questionOf(ean: unknown, condition: unknown, price: unknown, name: string): Question | Violation {
  const invalid = (field: string, value: unknown) => ({
    name: field,
    reason: `Request contains invalid value(s): '${String(value)}'.`,
  });
  if (typeof ean !== 'string' || !isEan(ean)) return invalid('ean', ean);
  if (typeof condition !== 'string' || !CONDITIONS.includes(condition)) return invalid('condition', condition);
  if (price === undefined || price === null) return { ean, condition, priceCents: undefined };
  const priceCents = typeof price === 'string' ? centsOf(price) : undefined;
  return priceCents === undefined || priceCents < 0 ? invalid(name, price) : { ean, condition, priceCents };
}

function reductionJson({ maximumCents, costCents, startDay, endDay }: Reduction): Json {
  return {
    maximumPrice: money(maximumCents),
    costReduction: money(costCents),
    startDate: dayText(startDay),
    endDate: dayText(endDay),
  };
}

function commissionJson(entry: Entry, question: Question, day: number, version: number): Json {
  const { ean, condition, priceCents } = question;
  const rate = rateOf(entry, day);
  const reductions = activeReductions(entry, day);
  const full = totalCents(rate, priceCents ?? 0);
  const fitting = reductions.filter((r) => priceCents !== undefined && priceCents <= r.maximumCents);
  const reduced = Math.max(0, full - Math.max(0, ...fitting.map((r) => r.costCents)));
  return {
    ean,
    condition,
    [priceName(version, 'body')]: priceCents === undefined ? undefined : money(priceCents),
    fixedAmount: money(rate.fixedCents),
    percentage: money(rate.percentage),
    totalCost: priceCents === undefined ? undefined : money(reduced),
    totalCostWithoutReduction: fitting.length === 0 ? undefined : money(full),
    reductions: reductions.length === 0 ? undefined : reductions.map(reductionJson),
  };
}

/** The record of a question; undefined for an EAN that is not known. */
function recordOf(retailer: Retailer, question: Question, day: number, version: number): LookupRecord | undefined {
  const entry = retailer.entryOf(question.ean);
  return entry && { ean: question.ean, text: jsonText(commissionJson(entry, question, day, version)) };
}

const unknown = (eans: readonly string[]): string => `No product with EAN ${eans.join(', ')}.`;

/** Endpoint 13: 200, 400 for what is no EAN, 404 for one that is not known. */
export function singleCommission(retailer: Retailer, call: Call, faults: CallFaults): Answer {
  const refused = refusedMedia(call);
  if (refused !== undefined) return refused;
  const version = versionOf(call);
  const name = priceName(version, 'query');
  const condition = call.query.get('condition') ?? 'NEW';
  const question = questionOf(call.parameters.ean, condition, call.query.get(name), name);
  if ('reason' in question) return badRequest(call, [question]);
  const record = recordOf(retailer, question, dutchWall(call.now).day, version);
  if (record === undefined) return notFound(call, unknown([question.ean]));
  const headers = { 'content-type': retailerType(version) };
  return { status: 200, headers, body: lookupBody('commission', [record], faults) };
}

function queriesOf(call: Call): readonly unknown[] | undefined {
  const body = parseJson(call.body);
  const queries = typeof body === 'object' && body !== null && 'commissionQueries' in body ? body.commissionQueries : 0;
  return Array.isArray(queries) ? queries : undefined;
}

function bulkQuestion(query: unknown, version: number): Question | Violation {
  const asked = (typeof query === 'object' && query !== null ? query : {}) as Record<string, unknown>;
  const name = priceName(version, 'body');
  return questionOf(asked.ean, asked.condition ?? 'NEW', asked[name], name);
}

/** The refusal of a bulk request; undefined when it is answered although it asks for unknown EANs. */
function bulkRefusal(
  { unknownEan: { as, status } }: Retailer,
  call: Call,
  violations: readonly Violation[],
  unknownEans: readonly string[],
): Answer | undefined {
  const refuses = unknownEans.length > 0 && as !== 'leave-out';
  if (violations.length === 0 && refuses && status === 404)
    return as === 'refuse' ? notFound(call, unknown(unknownEans)) : notFound(call);
  const reason = 'Request contains invalid value(s)';
  const named = unknownEans.map((ean) => ({ name: 'ean', reason: `${reason}: '${ean}'.` }));
  const reasons = as === 'refuse' ? named : [{ name: 'commissionQueries', reason: `${reason}.` }];
  const all = [...violations, ...(refuses ? reasons : [])];
  return all.length === 0 ? undefined : badRequest(call, all);
}

/**
 * Endpoint 14: 200 with `commissions` in the order of the questions; 400 for anything that is wrong with one of them. What
 * unknown EANs come to is a setting.
 */
export function bulkCommission(retailer: Retailer, call: Call, faults: CallFaults): Answer {
  const refused = refusedMedia(call);
  if (refused !== undefined) return refused;
  const queries = queriesOf(call);
  if (queries === undefined || queries.length === 0 || queries.length > BULK_LIMIT)
    return badRequest(call, [{ name: 'commissionQueries', reason: `size must be between 1 and ${BULK_LIMIT}` }]);
  const version = versionOf(call);
  const { day } = dutchWall(call.now);
  const violations: Violation[] = [];
  const unknownEans: string[] = [];
  const records: LookupRecord[] = [];
  for (const query of queries) {
    const question = bulkQuestion(query, version);
    if ('reason' in question) {
      violations.push(question);
      continue;
    }
    const record = recordOf(retailer, question, day, version);
    if (record === undefined) unknownEans.push(question.ean);
    else records.push(record);
  }
  const refusal = bulkRefusal(retailer, call, violations, unknownEans);
  if (refusal !== undefined) return refusal;
  const headers = { 'content-type': retailerType(version) };
  return { status: 200, headers, body: lookupBody('commission-bulk', records, faults) };
}

/** The truth of a question; undefined for an EAN that is not known. Refuses (usage) what is no question. */
export function commissionTruth(
  retailer: Retailer,
  asked: { readonly ean: string; readonly condition: string; readonly price: string | null },
  now: number,
): CommissionTruth | undefined {
  const question = questionOf(asked.ean, asked.condition, asked.price, 'price');
  if ('reason' in question)
    throw new EtlError('usage', 'bad_control', `${question.name}: ${question.reason}`, {
      hint: `an EAN with its check digit, one of ${CONDITIONS.join(', ')}, and a price with at most two digits after the point`,
    });
  const entry = retailer.entryOf(question.ean);
  if (entry === undefined) return undefined;
  return plain(commissionJson(entry, question, dutchWall(now).day, NEWEST_VERSION)) as unknown as CommissionTruth;
}
