/**
 * Rates with their reductions, and products, recomputed from the raw store: what each answer says of what was asked, in the
 * order in which the answers came. Where it differs from what was said before, that is history from this day on.
 */
import { decimals, membersIn, typed } from './by-text.mjs';
import { dayOf, entriesOf, fetchesOf, gatheredIn } from './home-files.mjs';

/** Added up: column, kind, and where the answer has it. */
const RATE_SUMS = [
  ['fixed_amount', 'm', 'fixedAmount'],
  ['percentage', 'm', 'percentage'],
  ['total_cost', 'm', 'totalCost'],
  ['total_cost_without_reduction', 'm', 'totalCostWithoutReduction'],
];
const REDUCTION_SUMS = [
  ['maximum_price', 'm', 'maximumPrice'],
  ['cost_reduction', 'm', 'costReduction'],
];
const PRODUCT_SUMS = [
  ['image_width', 'c', 'image', 'width'],
  ['image_height', 'c', 'image', 'height'],
  ['offer_price', 'm', 'offer', 'price'],
  ['offer_strikethrough_price', 'm', 'offer', 'strikethroughPrice'],
];
const NO_PRODUCT = { 400: 'bad_request', 404: 'not_found', 406: 'not_acceptable' };

/** Pipelines by the one whose answers they are made of, and what an answer says. */
export const LOOKUPS = {
  'commission-rates': { parts: ['commission-reductions'], said: ratesIn },
  products: { parts: [], said: productIn },
};

/**
 * Rows and sums of every day, by pipeline and its history; null where it cannot be known: answers were pruned, or an answer is held. `said`
 * gives for each answer [thing, what is said of it, rows by pipeline].
 */
export function versionsByDay(home, pipeline) {
  const { parts, said } = LOOKUPS[pipeline];
  const names = [pipeline, ...parts].flatMap((name) => [name, `${name}-history`]);
  const found = Object.fromEntries(names.map((name) => [name, new Map()]));
  const answers = answersOf(home, pipeline);
  if (answers === null) return null;
  const known = new Map();
  for (const answer of answers) {
    const day = dayOf(answer.fetch);
    for (const { thing, told, rows } of said(answer)) {
      const before = known.get(thing);
      if (before?.told === told) continue;
      known.set(thing, { told, rows, day });
      for (const [name, sums] of before?.rows ?? []) add(found[`${name}-history`], day, sums);
    }
  }
  for (const { rows, day } of known.values()) for (const [name, sums] of rows) add(found[name], day, sums);
  return found;
}

function add(days, day, amounts) {
  const figures = days.get(day) ?? { rows: 0, sums: {} };
  figures.rows++;
  for (const [column, kind, amount] of amounts) {
    const [, before] = figures.sums[column] ?? [kind, null];
    figures.sums[column] = [kind, amount === null ? before : (before ?? 0n) + amount];
  }
  days.set(day, figures);
}

/** The sums as a warehouse spells them. */
export function spelledSums(sums) {
  return Object.fromEntries(Object.entries(sums).map(([column, [kind, sum]]) => [column, decimals(sum, kind)]));
}

function ratesIn({ fetch: { status }, asked, body }) {
  const rate = (question, outcome, rest, record = null) => ({
    thing: JSON.stringify([question.ean, question.condition, question.price]),
    told: JSON.stringify([outcome, rest]),
    rows: [
      ['commission-rates', ratesRow(question, record)],
      ...boundariesOf(record).map((boundary, i) => ['commission-reductions', reductionRow(question, boundary, i)]),
    ],
  });
  if (status >= 300) {
    const named = refusedIn(body, asked);
    return asked
      .filter(({ ean }) => asked.length === 1 || named.has(ean))
      .map((question) => rate(question, 'refused', named.get(question.ean) ?? ''));
  }
  const records = new Map((membersIn(body).get('commissions') ?? []).map((record) => [record?.get('ean'), record]));
  return asked.map((question) => {
    const record = records.get(question.ean);
    return record ? rate(question, 'found', sorted(record), record) : rate(question, 'not_found', null);
  });
}

function ratesRow({ price }, record) {
  const amounts = RATE_SUMS.map(([column, kind, name]) => [column, kind, typed(kind, record?.get(name))]);
  const unitPrice = record?.get(record.has('unitPrice') ? 'unitPrice' : 'price');
  return [...amounts, ['asked_price', 'm', asked(price)], ['unit_price', 'm', typed('m', unitPrice)]];
}

function reductionRow({ price }, boundary, position) {
  const amounts = REDUCTION_SUMS.map(([column, kind, name]) => [column, kind, typed(kind, boundary.get(name))]);
  return [...amounts, ['asked_price', 'm', asked(price)], ['position', 'c', BigInt(position)]];
}

function asked(price) {
  return price === null ? null : typed('m', { number: price });
}

function boundariesOf(record) {
  return record?.get('reductions') ?? [];
}

/** EANs that a refusal names, with its reason. */
function refusedIn(body, asked) {
  const problem = membersIn(body);
  const violations = problem.get('violations') ?? [];
  const reasons = [...violations.map((one) => one?.get('reason')), problem.get('detail')].filter(Boolean);
  const reasonOf = (ean) => reasons.find((reason) => reason.includes(ean));
  return new Map(asked.flatMap(({ ean }) => (reasonOf(ean) ? [[ean, reasonOf(ean)]] : [])));
}

function productIn({ fetch: { status }, asked: { ean, country, language }, body }) {
  const product = status < 300 ? membersIn(body) : null;
  const within = (name, member) => product?.get(name)?.get(member);
  const sums = PRODUCT_SUMS.map(([column, kind, name, member]) => [column, kind, typed(kind, within(name, member))]);
  const told = product ? ['found', sorted(product)] : [NO_PRODUCT[status], membersIn(body).get('detail') ?? null];
  return [{ thing: `${ean} ${country} ${language}`, told: JSON.stringify(told), rows: [['products', sums]] }];
}

/** Members by name, so that their order makes no difference. */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (!(value instanceof Map)) return value;
  return [...value].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, sorted(one)]);
}

/** The answers in the order in which they came, each with its questions; null where some are not there or not applied. */
function answersOf(home, pipeline) {
  if (entriesOf(home, pipeline).some(({ held }) => held)) return null;
  const fetches = fetchesOf(home, pipeline).filter(({ outcome, raw_path: place }) => outcome === 'ok' && place);
  fetches.sort((a, b) => (a.finished_at < b.finished_at ? -1 : a.finished_at > b.finished_at ? 1 : 0));
  const answers = [...gatheredIn(home, fetches)];
  return answers.includes(null) ? null : answers;
}
