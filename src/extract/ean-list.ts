/**
 * The list of EANs that look-ups ask about, from a file and from a query alike: checked before anything is sent, in the order of
 * value. What cannot be asked is set aside with its reason.
 */
import { CONDITIONS, eanProblem } from '../core/ean.ts';

/** An EAN as it is asked about. */
export interface ListedEan {
  readonly ean: string;
  readonly condition: string;
  /** Selling price, decimal text such as `12.30`, which is sent as it stands; null: none is named. */
  readonly price: string | null;
}

export type EanRejectReason = 'bad_ean' | 'bad_price' | 'bad_condition' | 'bad_line';

export interface EanReject {
  readonly from: 'file' | 'query';
  /** Line of the file or row of the query, from 1. */
  readonly line: number;
  readonly reason: EanRejectReason;
  readonly detail: string;
  /** The line or row as it stands, cut. */
  readonly raw: string;
}

/** A line or row on its way into the list; texts as they stand. */
export interface EanRow {
  readonly ean: string;
  /** '' for none. */
  readonly price: string;
  /** '' for the list's own. */
  readonly condition: string;
}

/** Rejects that are kept; of a file that is something else altogether the first ones tell enough. */
const REJECTS_KEPT = 10_000;
const RAW_CHARACTERS = 200;

/** Takes lines and rows, and hands the questions in them on: there may be a million. */
export class EanList {
  /** The first ones; `rejected` counts all. */
  readonly rejects: EanReject[] = [];
  rejected = 0;
  private readonly condition: string;
  private questions: ListedEan[] = [];

  /** `condition`: the one to ask for where none is given. */
  constructor(condition: string) {
    this.condition = condition;
  }

  /** The questions since the last time. One may stand several times in a list. */
  newQuestions(): readonly ListedEan[] {
    const questions = this.questions;
    this.questions = [];
    return questions;
  }

  /** Takes a line of the file or a row of the query. `raw` is called only for a reject. */
  take(from: EanReject['from'], line: number, row: EanRow, raw: () => string): void {
    const checked = this.checked(row);
    if ('reason' in checked) this.reject(from, line, checked.reason, checked.detail, raw());
    else this.questions.push(checked);
  }

  reject(from: EanReject['from'], line: number, reason: EanRejectReason, detail: string, raw: string): void {
    this.rejected++;
    if (this.rejects.length === REJECTS_KEPT) return;
    this.rejects.push({ from, line, reason, detail, raw: raw.slice(0, RAW_CHARACTERS).toWellFormed() });
  }

  private checked(row: EanRow): ListedEan | Pick<EanReject, 'reason' | 'detail'> {
    const [ean, amount, named] = [row.ean.trim(), row.price.trim(), row.condition.trim()];
    const problem = eanProblem(ean);
    if (problem !== null) return { reason: 'bad_ean', detail: eanDetail(ean, problem) };
    const price = amount === '' ? null : canonicalPrice(amount);
    if (price === undefined) return { reason: 'bad_price', detail: priceDetail(amount) };
    const condition = named === '' ? this.condition : named.toUpperCase();
    if (isCondition(condition)) return { ean, condition, price };
    return { reason: 'bad_condition', detail: `${shown(named)} is none of ${CONDITIONS.join(', ')}` };
  }
}

/** Takes the rows of a query: columns `ean` and, where they are, `price` and `condition`; any case, values as text or number. */
export function takeRows(rows: Iterable<Readonly<Record<string, unknown>>>, list: EanList): void {
  let line = 0;
  for (const row of rows) {
    const values = Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toLowerCase(), value]));
    const text = (name: string) => (values[name] === null || values[name] === undefined ? '' : String(values[name]));
    const taken = { ean: text('ean'), price: text('price'), condition: text('condition') };
    list.take('query', ++line, taken, () => [taken.ean, taken.price, taken.condition].join(','));
  }
}

/**
 * A price as the one text that it has in questions, keys and versions: digits, no zeros in front or at the end of the decimals,
 * no exponent. Undefined for what is no price above 0 that DECIMAL(18,6) holds exactly.
 */
export function canonicalPrice(text: string): string | undefined {
  const parts = /^([0-9]+)(?:\.([0-9]+))?$/.exec(text);
  if (!parts) return undefined;
  const whole = parts[1]!.replace(/^0+(?=[0-9])/, '');
  const decimals = (parts[2] ?? '').replace(/0+$/, '');
  if (whole.length > 12 || decimals.length > 6) return undefined;
  if (decimals !== '') return `${whole}.${decimals}`;
  return whole === '0' ? undefined : whole;
}

function isCondition(text: string): boolean {
  return (CONDITIONS as readonly string[]).includes(text);
}

function priceDetail(price: string): string {
  return `${shown(price)} is no price: above 0, digits with a decimal point, at most 6 decimals, no exponent`;
}

/** What is wrong with an EAN, and where a spreadsheet has damaged it, how that is undone. */
function eanDetail(ean: string, problem: string): string {
  const fix = 'format the column as text in the spreadsheet and export it again';
  if (/^[0-9]+(?:[.,][0-9]+)?e\+?[0-9]+$/i.test(ean))
    return `${shown(ean)} was an EAN until a spreadsheet took it for a number: ${fix}`;
  if (/^[0-9]{8,13}[.,]0+$/.test(ean)) return `${shown(ean)} is an EAN that was taken for a number: ${fix}`;
  const filled = ean.padStart(13, '0');
  if (/^[0-9]{6,12}$/.test(ean) && eanProblem(filled) === null)
    return `${shown(ean)} ${problem}; it may have lost its leading zeros: ${filled} would be an EAN. If so, ${fix}`;
  return ean === '' ? 'the EAN is empty' : `${shown(ean)} ${problem}`;
}

function shown(text: string): string {
  return JSON.stringify(text.length <= 40 ? text : `${text.slice(0, 40)}…`);
}
