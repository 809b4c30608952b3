/** `lookup`: what the service says about single EANs right now, printed and stored nowhere. */
import type { Command } from 'commander';
import { type CommissionRateSettings, commissionRates } from '../../../pipelines/commission-rates.ts';
import type { Market } from '../../../pipelines/products.ts';
import { CONDITIONS, eanProblem, isEan } from '../../core/ean.ts';
import { EtlError, EXIT, exitCodeOf } from '../../core/errors.ts';
import { canonicalPrice, type ListedEan } from '../../extract/ean-list.ts';
import { type ExactJson, ExactNumber, type ExactObject, isExactArray, isExactObject } from '../../json/exact-json.ts';
import { settingsOf } from '../../run/context.ts';
import {
  type LookedUp,
  type LookUpResult,
  lookUpCommissions,
  lookUpProducts,
  marketFor,
  type ProductQuestion,
} from '../../run/keys/look-up.ts';
import { plainText } from '../../sources/values.ts';
import type { CliContext } from '../context.ts';
import { addExamples } from '../help.ts';
import { printTable } from '../print/output.ts';
import { cut } from '../print/screen.ts';
import type { TableColumn } from '../print/table.ts';
import { withApp } from '../with-app.ts';
import { foreign, uncut } from './foreign.ts';
import { printForeignJson } from './foreign-json.ts';

interface ProductOptions {
  readonly country?: string;
  readonly language?: string;
  readonly json?: boolean;
}

interface CommissionOptions {
  readonly price?: string;
  readonly condition?: string;
  readonly json?: boolean;
}

export function register(program: Command, cli: CliContext): void {
  const lookup = program.command('lookup').description('ask the service about single EANs; nothing is stored');
  const product = lookup
    .command('product')
    .description('what the catalogue says about EANs, in one country and language, a call each')
    .argument('<eans...>', 'EANs of 13 digits')
    .option('--country <code>', 'two letters, such as NL; default: the first of pipelines.products.markets')
    .option('--language <code>', 'such as nl or fr-BE; default: as of --country')
    .option('--json', 'print one JSON document, with every digit that was sent')
    .action((eans: string[], options: ProductOptions) => lookUpProduct(cli, eans, options));
  const commission = lookup
    .command('commission')
    .description('what commission the service asks for EANs: for one by a call of its own, for many in batches')
    .argument('<eans...>', 'EANs of 13 digits')
    .option('--price <amount>', 'selling price to reckon with, such as 12.95')
    .option('--condition <name>', `${CONDITIONS.join(', ')}; default: that of pipelines.commission-rates`)
    .option('--json', 'print one JSON document, with every digit that was sent')
    .action((eans: string[], options: CommissionOptions) => lookUpCommission(cli, eans, options));
  const ofProducts = [
    'lookup product 8712626055143 --country BE --language fr',
    'the product as Belgium sees it',
  ] as const;
  const ofCommissions = ['lookup commission 8712626055143 --price 24.95', 'the commission at that price'] as const;
  addExamples(lookup, [ofProducts, ofCommissions]);
  addExamples(product, [['lookup product 8712626055143', 'title, price, rating and so on'], ofProducts]);
  addExamples(commission, [
    ofCommissions,
    ['lookup commission 8712626055143 8804269223123 --condition good', 'several at once'],
  ]);
}

async function lookUpProduct(cli: CliContext, texts: readonly string[], options: ProductOptions): Promise<void> {
  const eans = checkedEans(texts);
  const named = checkedMarket(options);
  const { market, result } = await withApp(cli, async (context) => {
    const market = marketFor(context, named);
    const questions = eans.map((ean) => ({ ean, ...market }));
    return { market, result: await lookUpProducts(context, questions) };
  });
  if (options.json) {
    const products = result.answers.map((one) => documentOf(one, { ean: one.question.ean }, 'product'));
    printForeignJson(
      cli.stdout,
      new Map<string, ExactJson>([...Object.entries(market), ['products', products]]),
      cli.secrets,
    );
  } else cli.stdout.write(result.answers.map((one) => productText(cli, one)).join('\n'));
  finish(cli, result);
}

async function lookUpCommission(cli: CliContext, texts: readonly string[], options: CommissionOptions): Promise<void> {
  const eans = checkedEans(texts);
  const price = checkedPrice(options.price);
  const named = checkedCondition(options.condition);
  const result = await withApp(cli, (context) => {
    const condition = named ?? settingsOf<CommissionRateSettings>(context, commissionRates).condition;
    return lookUpCommissions(
      context,
      eans.map((ean) => ({ ean, condition, price })),
    );
  });
  if (options.json) {
    const commissions = result.answers.map((one) => {
      const { ean, condition, price: asked } = one.question;
      return documentOf(one, { ean, condition, price: asked === null ? null : new ExactNumber(asked) }, 'commission');
    });
    printForeignJson(cli.stdout, new Map([['commissions', commissions]]), cli.secrets);
  } else printCommissions(cli, result.answers);
  finish(cli, result);
}

/** Each EAN once. Errors: `usage/bad_ean`, with every one that is none. */
function checkedEans(texts: readonly string[]): string[] {
  const eans = [...new Set(texts.map((text) => text.trim()))];
  const bad = eans.flatMap((ean) => {
    const problem = eanProblem(ean);
    return problem === null ? [] : [`${shown(ean)} ${problem}${meant(ean)}`];
  });
  if (bad.length === 0) return eans;
  const message = bad.length === 1 ? bad[0]! : [`${bad.length} of these are no EANs`, ...bad].join('\n');
  throw new EtlError('usage', 'bad_ean', message, {
    hint: 'an EAN has 13 digits, of which the last one checks the others; nothing was asked',
  });
}

/** What twelve digits or fewer may be: without their leading zeros, or without the check digit. */
function meant(ean: string): string {
  if (!/^[0-9]{6,12}$/.test(ean)) return '';
  const filled = [ean.padStart(13, '0'), ...Array.from('0123456789', (digit) => ean + digit)].filter(isEan);
  return filled.length === 0 ? '' : `; ${filled.join(' or ')} would be ${filled.length === 1 ? 'an EAN' : 'EANs'}`;
}

/** Errors: `usage/bad_market`. */
function checkedMarket({ country, language }: ProductOptions): Partial<Market> {
  const parts = /^([a-z]{2})(?:-([a-z]{2}))?$/i.exec(language ?? 'nl');
  if (country !== undefined && !/^[a-z]{2}$/i.test(country))
    throw new EtlError('usage', 'bad_market', `--country ${shown(country)} is no country`, {
      hint: 'two letters, such as NL or BE',
    });
  if (parts === null)
    throw new EtlError('usage', 'bad_market', `--language ${shown(language!)} is no language`, {
      hint: 'as in Accept-Language: nl, fr, nl-NL, nl-BE or fr-BE',
    });
  const [, tongue = '', region] = parts;
  const spelt = region === undefined ? tongue.toLowerCase() : `${tongue.toLowerCase()}-${region.toUpperCase()}`;
  return {
    ...(country === undefined ? {} : { country: country.toUpperCase() }),
    ...(language === undefined ? {} : { language: spelt }),
  };
}

/** Errors: `usage/bad_price`. */
function checkedPrice(text: string | undefined): string | null {
  if (text === undefined) return null;
  const price = canonicalPrice(text.trim());
  if (price !== undefined) return price;
  throw new EtlError('usage', 'bad_price', `--price ${shown(text)} is no price`, {
    hint: 'above 0, digits with a decimal point, at most 6 decimals, no exponent: 12.95',
  });
}

/** Errors: `usage/bad_condition`. */
function checkedCondition(text: string | undefined): string | null {
  if (text === undefined) return null;
  const condition = CONDITIONS.find((one) => one === text.trim().toUpperCase());
  if (condition !== undefined) return condition;
  throw new EtlError('usage', 'bad_condition', `--condition ${shown(text)} is no condition`, {
    hint: `choose from ${CONDITIONS.join(', ')}`,
  });
}

function shown(text: string): string {
  return JSON.stringify(cut(text, 40));
}

/** Sets the exit code and says which calls failed. */
function finish(cli: CliContext, { answers, errors }: LookUpResult<unknown>): void {
  const [first] = errors;
  if (first) cli.finish(exitCodeOf(first));
  else cli.finish(answers.every(({ outcome }) => outcome === 'found') ? EXIT.done : EXIT.setAside);
  for (const error of errors.slice(0, ERRORS_SHOWN)) cli.fail(error);
  if (errors.length > ERRORS_SHOWN) cli.say(`… and ${errors.length - ERRORS_SHOWN} more errors`);
}

const ERRORS_SHOWN = 5;

type ShownAnswer<Q> = Pick<LookedUp<Q>, 'question' | 'outcome' | 'reason' | 'record'>;

function documentOf(
  { outcome, reason, record }: ShownAnswer<unknown>,
  question: Readonly<Record<string, ExactJson>>,
  recordName: string,
): ExactObject {
  return new Map<string, ExactJson>([...Object.entries({ ...question, outcome, reason }), [recordName, record]]);
}

/** Of a description with its tags. */
const HTML_CHARACTERS = 16 * 1024;
const NAME_WIDTH = 22;

function productText(cli: CliContext, { question, outcome, reason, record }: ShownAnswer<ProductQuestion>): string {
  const { ean, country, language } = question;
  const head = `${ean} (${country}, ${language})`;
  if (record === null) return `${head}: ${words(outcome)}: ${foreign(cli, reason)}\n`;
  const known = productFields(record).flatMap(([name, value, isCut]) => {
    const text = foreign(cli, value);
    if (text === '') return [];
    // An address that was cut leads nowhere.
    const fitting = isCut && cli.stdout.isTTY ? cut(text, cli.stdout.columns - NAME_WIDTH - 2) : text;
    return [`  ${name.padEnd(NAME_WIDTH - 2)}  ${fitting}\n`];
  });
  return `${head}\n${known.join('')}`;
}

type Field = readonly [name: string, value: string | null, isCut: boolean];

function productFields(record: ExactObject): readonly Field[] {
  const [offer, image] = [objectIn(record, 'offer'), objectIn(record, 'image')];
  const description = plainText(record.get('description'));
  return [
    ['title', plainText(record.get('title')), true],
    ['price', plainText(offer.get('price')), true],
    ['struck-through price', plainText(offer.get('strikethroughPrice')), true],
    ['delivery', plainText(offer.get('deliveryDescription')), true],
    ['rating', plainText(record.get('rating')), true],
    ['description', description === null ? null : withoutTags(description), true],
    ['url', plainText(record.get('url')), false],
    ['image', plainText(image.get('url')), false],
    ['gpc', gpcPath(record), true],
    ['specifications', specificationCount(record), true],
  ];
}

function objectIn(record: ExactObject, name: string): ExactObject {
  const value = record.get(name);
  return isExactObject(value) ? value : new Map();
}

function objectsIn(record: ExactObject, name: string): readonly ExactObject[] {
  const value = record.get(name);
  return isExactArray(value) ? value.filter(isExactObject) : [];
}

function gpcPath(record: ExactObject): string {
  return objectsIn(record, 'gpc')
    .flatMap((level) => plainText(level.get('name')) ?? [])
    .join(' > ');
}

function specificationCount(record: ExactObject): string | null {
  if (!isExactArray(record.get('specificationGroups'))) return null;
  return String(objectsIn(record, 'specificationGroups').flatMap((group) => objectsIn(group, 'specifications')).length);
}

function withoutTags(html: string): string {
  return html.slice(0, HTML_CHARACTERS).replaceAll(/<[^<>]*>/g, ' ');
}

const RATE_COLUMNS: readonly TableColumn[] = [
  { title: 'ean' },
  { title: 'condition' },
  ...['price', 'fixed', 'percentage', 'total', 'without reduction'].map((title) => ({
    title,
    align: 'right' as const,
  })),
  { title: 'reductions' },
];

/** A table of what was found, without columns in which nothing stands, and a line for each of the others. */
function printCommissions(cli: CliContext, answers: readonly ShownAnswer<ListedEan>[]): void {
  const rows = answers.flatMap(({ question, record }) => (record === null ? [] : [rateRow(cli, question, record)]));
  const isFilled = RATE_COLUMNS.map((_, i) => rows.some((row) => row[i] !== ''));
  const filled = <T>(values: readonly T[]) => values.filter((_, i) => isFilled[i]);
  if (rows.length > 0) printTable(uncut(cli.stdout), filled(RATE_COLUMNS), rows.map(filled));
  for (const { question, outcome, reason, record } of answers)
    if (record === null) cli.stdout.write(`${question.ean}: ${words(outcome)}: ${foreign(cli, reason)}\n`);
}

function rateRow(cli: CliContext, { ean, condition, price }: ListedEan, record: ExactObject): string[] {
  const amount = (name: string) => foreign(cli, plainText(record.get(name)));
  // Version 3 of the interface says `price`, later ones `unitPrice`.
  const shownPrice = amount('unitPrice') || amount('price') || (price ?? '');
  const rates = ['fixedAmount', 'percentage', 'totalCost', 'totalCostWithoutReduction'].map(amount);
  const boundaries = objectsIn(record, 'reductions').map((boundary) => boundaryText(boundary));
  return [ean, condition, shownPrice, ...rates, foreign(cli, boundaries.join('; '))];
}

/** `≤ 32.65: −15.92, 2018-05-03..2018-05-04` */
function boundaryText(boundary: ExactObject): string {
  const value = (name: string) => plainText(boundary.get(name)) ?? '?';
  return `≤ ${value('maximumPrice')}: −${value('costReduction')}, ${value('startDate')}..${value('endDate')}`;
}

function words(outcome: string): string {
  return outcome.replaceAll('_', ' ');
}
