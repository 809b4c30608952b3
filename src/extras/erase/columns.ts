/** Where values that are erased stand in tables: the columns of each pipeline, and those of the bookkeeping. */

import { type Pipeline, storedColumns } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { quoteName, quoteText } from '../../engine/duckdb.ts';
import { mayHold, type Respelling } from '../../engine/respell.ts';
import type { ErasedTable } from '../../warehouse/erasing.ts';
import { type ErasedKind, type Erasures, inAddress } from '../masking/erasures.ts';
import { ALL_KINDS, ERASED_COLUMNS, type MaskScope, maskJson, maskText } from '../masking/mask-text.ts';
import { maskWord, maskWords } from './words.ts';

/** What is looked for, in plain text as long as the command is at work and nowhere afterwards. */
export interface Sought {
  readonly erasures: Erasures;
  readonly subIds: readonly string[];
  readonly orders: readonly string[];
  /** Of the orders. */
  readonly items: readonly string[];
}

/** What contents and answers that were respelled are called now. */
export interface Renamed {
  /** Digests of slices. */
  readonly digests: ReadonlyMap<string, string>;
  /** Fetches whose answers were masked, also by an earlier command: what a target that was away then does not know yet. */
  readonly fetches: readonly FetchRecord[];
}

const UNIT = 'chr(31)';
const UNIT_SIGN = '\u001f';
/** Columns that name things of ours. */
const OURS: ReadonlySet<string> = new Set(['fetch_id', 'delivery_id', 'key_id', 'body_sha256']);

/** The texts to look for, also as addresses spell them. */
export function soughtTexts({ subIds, orders, items }: Sought, kinds: readonly ErasedKind[]): string[] {
  const texts: Readonly<Record<ErasedKind, readonly string[]>> = {
    'sub-id': subIds,
    'order-id': orders,
    'order-item-id': items,
  };
  const sought = kinds.flatMap((kind) => texts[kind]);
  return [...new Set([...sought, ...sought.map(inAddress)])];
}

/** Of a pipeline's own table or files. The item comes first: it is known by its order. */
export function respellingsOf(pipeline: Pipeline, scope: MaskScope, sought: Sought): Respelling[] {
  const columns = storedColumns(pipeline).filter(({ column }) => !OURS.has(column));
  const hasOrders = columns.some(({ column }) => column === 'order_id');
  const isReport = scope.members.size > 0;
  const items = isReport && hasOrders ? [itemRespelling(sought)] : [];
  const rest = columns.flatMap(({ column, kind }): Respelling[] => {
    const erased = isReport ? ERASED_COLUMNS.get(column) : undefined;
    if (erased === 'order-item-id') return [];
    if (erased !== undefined) return [wholeRespelling(column, erased, sought)];
    if (kind === 'json') return [jsonRespelling(column, scope, sought)];
    return kind === 'text' && !isReport ? [textRespelling(column, sought, scope.kinds)] : [];
  });
  return [...items, ...rest].filter(({ where }) => where !== 'false');
}

/** Of the rejects of a pipeline; `and`: which rows are its. */
export function rejectRespellings(scope: MaskScope, sought: Sought, and = 'true'): Respelling[] {
  const raw = jsonRespelling('raw', scope, sought);
  return [{ ...raw, isJson: false }, textRespelling('detail', sought, scope.kinds)].map((respelling) => ({
    ...respelling,
    where: `${and} AND ${respelling.where}`,
  }));
}

function wholeRespelling(column: string, kind: ErasedKind, sought: Sought): Respelling {
  const texts = kind === 'sub-id' ? sought.subIds : sought.orders;
  const where = texts.length === 0 ? 'false' : `${quoteName(column)} IN (${texts.map(quoteText).join(', ')})`;
  const spell = (text: string) => sought.erasures.markOf(kind, text);
  return { column, isJson: false, text: quoteName(column), where, spell };
}

function itemRespelling({ orders, erasures }: Sought): Respelling {
  return {
    column: 'order_item_id',
    isJson: false,
    text: `concat(order_id, ${UNIT}, order_item_id)`,
    where: orders.length === 0 ? 'false' : `order_id IN (${orders.map(quoteText).join(', ')})`,
    spell: (text) => {
      const [order = '', item = ''] = text.split(UNIT_SIGN);
      const mark = erasures.markOf('order-id', order);
      return mark === null ? null : erasures.itemMark(mark, item);
    },
  };
}

function jsonRespelling(column: string, scope: MaskScope, sought: Sought): Respelling {
  const text = jsonText(column);
  const where = mayHold(text, soughtTexts(sought, scope.kinds), true);
  return { column, isJson: true, text, where, spell: (old) => maskJson(sought.erasures, old, scope) };
}

function textRespelling(column: string, sought: Sought, kinds: readonly ErasedKind[] = ALL_KINDS): Respelling {
  const text = quoteName(column);
  const where = mayHold(text, soughtTexts(sought, kinds), false);
  return { column, isJson: false, text, where, spell: (old) => maskText(sought.erasures, old, kinds) };
}

function jsonText(column: string): string {
  return `CAST(${quoteName(column)} AS VARCHAR)`;
}

/** What is called otherwise now. */
function renaming(column: string, names: ReadonlyMap<string, string>): Respelling[] {
  if (names.size === 0) return [];
  const text = quoteName(column);
  return [{ column, isJson: false, text, where: `${text} IS NOT NULL`, spell: (old) => names.get(old) ?? null }];
}

/** What the records of masked answers say now. */
function answerColumns(fetches: readonly FetchRecord[]): Respelling[] {
  if (fetches.length === 0) return [];
  const byId = new Map(fetches.map((fetch) => [fetch.fetch_id, fetch]));
  const where = `fetch_id IN (${fetches.map(({ fetch_id: id }) => quoteText(id)).join(', ')})`;
  const respelled = (column: 'sha256' | 'raw_path'): Respelling => ({
    ...{ column, isJson: false, text: `concat(fetch_id, ${UNIT}, ${column})`, where },
    spell: (text) => {
      const [id = '', old] = text.split(UNIT_SIGN);
      const anew = byId.get(id)?.[column] ?? null;
      return anew === old ? null : anew;
    },
  });
  return [respelled('sha256'), respelled('raw_path')];
}

/** Every table of a warehouse in which something may stand. */
export function erasedTables(
  pipelines: readonly Pipeline[],
  scopes: ReadonlyMap<string, MaskScope>,
  sought: Sought,
  { digests, fetches }: Renamed,
): ErasedTable[] {
  const facts = pipelines.flatMap((pipeline): ErasedTable[] => {
    const scope = scopes.get(pipeline.name);
    if (!scope) return [];
    const respellings = respellingsOf(pipeline, scope, sought);
    return [{ schema: 'warehouse', name: pipeline.table, respellings }];
  });
  const text = (column: string): Respelling => ({
    ...textRespelling(column, sought),
    where: mayHold(quoteName(column), soughtTexts(sought, ALL_KINDS), true),
    spell: (old) => maskWord(sought.erasures, old),
  });
  const rejects = pipelines.flatMap(({ name }) => {
    const scope = scopes.get(name);
    return scope ? rejectRespellings(scope, sought, `pipeline = ${quoteText(name)}`) : [];
  });
  const summary = jsonText('summary');
  const words: Respelling = {
    ...{ column: 'summary', isJson: true, text: summary },
    where: mayHold(summary, soughtTexts(sought, ALL_KINDS), true),
    spell: (old) => JSON.stringify(maskWords(sought.erasures, JSON.parse(old))),
  };
  const bookkeeping: ErasedTable[] = [
    { schema: 'etl', name: 'reject', respellings: rejects },
    { schema: 'etl', name: 'hold', respellings: [text('detail'), ...renaming('digest', digests)] },
    { schema: 'etl', name: 'drift_by_fetch', respellings: [text('field'), text('example')] },
    {
      schema: 'etl',
      name: 'fetch',
      respellings: [text('url'), text('error_message'), ...answerColumns(fetches)],
    },
    {
      schema: 'etl',
      name: 'run',
      respellings: [text('command'), words],
    },
    { schema: 'etl', name: 'receipt', respellings: renaming('digest', digests) },
  ];
  return [...facts, ...bookkeeping];
}
