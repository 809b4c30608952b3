/** Endpoints 13 and 14: what selling an EAN would cost, singly and in bulk. */
import { dayOfNumber } from '../core/days.ts';
import { centsOf } from './amounts.ts';
import { activeReductions, type Entry, entryOf, type Reduction, rateOf, totalCents } from './assortment.ts';
import { type Answer, badRequest, type Call, json, notFound, retailerType, type Violation, versionOf } from './call.ts';
import { isEan } from './catalogue.ts';
import { dutchWall } from './dutch-time.ts';
import { type Json, parseJson } from './json-text.ts';
import { refusedMedia } from './media.ts';
import { money } from './rows.ts';
import type { World } from './world.ts';

const BULK_LIMIT = 100;
const CONDITIONS = ['NEW', 'AS_NEW', 'GOOD', 'REASONABLE', 'MODERATE'];

export interface CommissionSettings {
  readonly world: World;
  /** EANs known beyond the catalogue. */
  readonly seriesLength: number;
  /** What a bulk request with an EAN that nobody knows comes to: the specification leaves it open. */
  readonly unknownEan: 'refuse' | 'leave-out';
}

interface Question {
  readonly ean: string;
  readonly condition: string;
  /** undefined when no price was asked for. */
  readonly priceCents: number | undefined;
}

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
    startDate: dayOfNumber(startDay),
    endDate: dayOfNumber(endDay),
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

/** Endpoint 13: 200, 400 for what is no EAN, 404 for one that is not known. */
export function singleCommission({ world, seriesLength }: CommissionSettings, call: Call): Answer {
  const refused = refusedMedia(call);
  if (refused !== undefined) return refused;
  const version = versionOf(call);
  const name = priceName(version, 'query');
  const condition = call.query.get('condition') ?? 'NEW';
  const question = questionOf(call.parameters.ean, condition, call.query.get(name), name);
  if ('reason' in question) return badRequest(call, [question]);
  const entry = entryOf(world, seriesLength, question.ean);
  if (entry === undefined) return notFound(call, `No product with EAN ${question.ean}.`);
  const { day } = dutchWall(call.now);
  return json(200, commissionJson(entry, question, day, version), retailerType(version));
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

/** Endpoint 14: 200 with `commissions` in the order of the questions; 400 for anything that is wrong with one of them. */
export function bulkCommission({ world, seriesLength, unknownEan }: CommissionSettings, call: Call): Answer {
  const refused = refusedMedia(call);
  if (refused !== undefined) return refused;
  const queries = queriesOf(call);
  if (queries === undefined || queries.length === 0 || queries.length > BULK_LIMIT)
    return badRequest(call, [{ name: 'commissionQueries', reason: `size must be between 1 and ${BULK_LIMIT}` }]);
  const version = versionOf(call);
  const { day } = dutchWall(call.now);
  const violations: Violation[] = [];
  const commissions: Json[] = [];
  for (const question of queries.map((query) => bulkQuestion(query, version))) {
    if ('reason' in question) {
      violations.push(question);
      continue;
    }
    const entry = entryOf(world, seriesLength, question.ean);
    if (entry !== undefined) commissions.push(commissionJson(entry, question, day, version));
    else if (unknownEan === 'refuse')
      violations.push({ name: 'ean', reason: `Request contains invalid value(s): '${question.ean}'.` });
  }
  if (violations.length > 0) return badRequest(call, violations);
  return json(200, { commissions }, retailerType(version));
}
