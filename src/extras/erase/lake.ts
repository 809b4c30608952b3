/** The slices of the lake, and what is held of them, without the values that are erased: new files and contents for one commit. */
import { copyFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { asEtlError, EtlError } from '../../core/errors.ts';
import { type Pipeline, storedColumns } from '../../core/pipeline.ts';
import type { SliceContent } from '../../core/records.ts';
import type { SliceEntry } from '../../core/slices.ts';
import { type Engine, quoteName, quoteText, readParquet } from '../../engine/duckdb.ts';
import { measureSlice } from '../../engine/measure.ts';
import { findTexts, makeRespelled, RESPELLED, type Respelling } from '../../engine/respell.ts';
import type { SliceChange, SliceFiles } from '../../lake/lake.ts';
import { parquetOptions } from '../../normalise/parquet.ts';
import type { RunContext } from '../../run/context.ts';
import type { MaskScope } from '../masking/mask-text.ts';
import { rejectRespellings, respellingsOf, type Sought } from './columns.ts';

export interface LakeErasure {
  /** Of pipelines whose files cannot be read; the others are done. */
  readonly errors: readonly EtlError[];
  readonly changes: readonly SliceChange[];
  /** Old digest → new one. */
  readonly digests: ReadonlyMap<string, string>;
  readonly slices: number;
  /** Values in rows and rejects. */
  readonly values: number;
}

/** A content with its files, by absolute path. */
interface Whole extends SliceFiles {
  readonly content: SliceContent;
}

interface Respelled extends Whole {
  readonly values: number;
}

interface Work {
  readonly engine: Engine;
  readonly pipeline: Pipeline;
  readonly rows: readonly Respelling[];
  readonly rejects: readonly Respelling[];
  /** Null: only counts. */
  readonly outDir: string | null;
}

/** Files that one statement looks through. */
const FILES_A_STATEMENT = 200;

/** `outDir` null: only counts. */
export async function respellLake(
  context: RunContext,
  engine: Engine,
  scopes: ReadonlyMap<string, MaskScope>,
  sought: Sought,
  outDir: string | null,
): Promise<LakeErasure> {
  const errors: EtlError[] = [];
  const changes: SliceChange[] = [];
  const digests = new Map<string, string>();
  let values = 0;
  if (outDir !== null) await mkdir(outDir, { recursive: true });
  for (const pipeline of context.pipelines) {
    const scope = scopes.get(pipeline.name);
    if (!scope) continue;
    const rows = respellingsOf(pipeline, scope, sought);
    const work: Work = { engine, pipeline, rows, rejects: rejectRespellings(scope, sought), outDir };
    try {
      for (const { current, kept, before } of await respellPipeline(context, work)) {
        changes.push(changeOf(pipeline, current, kept));
        values += current.values + (kept?.values ?? 0);
        digests.set(before.content.digest, current.content.digest);
        if (kept) digests.set(before.held!.content.digest, kept.content.digest);
      }
    } catch (thrown) {
      errors.push(unreadable(pipeline, thrown));
    }
  }
  return { errors, changes, digests, slices: changes.length, values };
}

function unreadable({ name }: Pipeline, thrown: unknown): EtlError {
  return new EtlError('failed', 'lake_file', asEtlError(thrown).message, {
    concern: { pipeline: name },
    hint: `partner-etl verify names what is damaged in lake/${name}, and the replay that fixes it`,
  });
}

interface RespelledSlice {
  readonly before: SliceEntry;
  readonly current: Respelled;
  readonly kept: Respelled | null;
}

async function respellPipeline(context: RunContext, work: Work): Promise<RespelledSlice[]> {
  const entries = [...(await context.lake.slices(work.pipeline.name)).values()];
  const wholes = (entry: SliceEntry) => wholesOf(context, entry);
  const holding = await filesHolding(work, entries.flatMap(wholes));
  const respelledSlices: RespelledSlice[] = [];
  for (const before of entries) {
    const [now, held] = wholes(before);
    const files = [now, held].flatMap((whole) => (whole ? [whole.file, whole.rejectsFile] : []));
    if (!now || !files.some((file) => holding.has(file))) continue;
    const current = await respellWhole(work, now, '');
    const kept = held ? await respellWhole(work, held, 'held-') : null;
    if (current.values + (kept?.values ?? 0) > 0) respelledSlices.push({ before, current, kept });
  }
  return respelledSlices;
}

function changeOf({ name }: Pipeline, current: Whole, kept: Whole | null): SliceChange {
  const filesOf = ({ file, rejectsFile }: Whole): SliceFiles => ({ file, rejectsFile });
  const held = kept && { content: kept.content, files: filesOf(kept) };
  return { kind: 'respell', pipeline: name, content: current.content, files: filesOf(current), held };
}

/** What the slice holds, and behind it what is held of it. */
function wholesOf({ lake }: RunContext, entry: SliceEntry): Whole[] {
  const now = { content: entry.content, file: lake.rowsFile(entry), rejectsFile: lake.rejectsFile(entry) };
  if (!entry.held) return [now];
  return [now, { content: entry.held.content, ...lake.heldFiles(entry.held) }];
}

/** The files in which something may stand. */
async function filesHolding(
  { engine, rows, rejects }: Work,
  wholes: readonly Whole[],
): Promise<ReadonlySet<string | null>> {
  const found = new Set<string | null>();
  const look = async (files: readonly (string | null)[], respellings: readonly Respelling[]) => {
    const where = respellings.map((one) => `(${one.where})`).join(' OR ');
    const there = files.flatMap((file) => file ?? []);
    for (let at = 0; where !== '' && at < there.length; at += FILES_A_STATEMENT) {
      const some = readParquet(there.slice(at, at + FILES_A_STATEMENT), ['filename = true', 'union_by_name = true']);
      const holding = await engine.rows(`SELECT DISTINCT filename FROM ${some} WHERE ${where}`);
      for (const { filename } of holding) found.add(String(filename));
    }
  };
  await look(
    wholes.map(({ file }) => file),
    rows,
  );
  await look(
    wholes.map(({ rejectsFile }) => rejectsFile),
    rejects,
  );
  return found;
}

/** The content with all that it has spelled anew, in files of its own. */
async function respellWhole(work: Work, whole: Whole, prefix: string): Promise<Respelled> {
  const { engine, pipeline, outDir } = work;
  const pairs = new Map<string, string>();
  const rows = await gather(work, whole.file, work.rows, pairs);
  const rejects = await gather(work, whole.rejectsFile, work.rejects, pairs);
  const values = rows + rejects;
  if (outDir === null) return { ...whole, values };
  await makeRespelled(engine, pairs);
  try {
    const at = (what: string) => path.join(outDir, `${prefix}${pipeline.name}.${whole.content.day}.${what}`);
    const rejectsFile = await writeRejects(work, whole.rejectsFile, rejects > 0, at('rejects.parquet'));
    const relation = whole.file && rowsOf(work, whole.file);
    const content = { ...whole.content, ...(await measureSlice(engine, pipeline, relation, rejectsFile)) };
    const file = relation && (await writeRows(work, relation, content, at('parquet')));
    return { content, file, rejectsFile, values };
  } finally {
    await engine.run(`DROP TABLE ${RESPELLED}`);
  }
}

/** Adds what is to be respelled in the file to the pairs, each under its column's name; returns how many values there are. */
async function gather(
  { engine }: Work,
  file: string | null,
  respellings: readonly Respelling[],
  pairs: Map<string, string>,
): Promise<number> {
  let values = 0;
  for (const respelling of file === null ? [] : respellings) {
    const found = await findTexts(engine, readParquet([file!]), respelling);
    values += found.rows;
    for (const [old, fresh] of found.pairs) pairs.set(`${respelling.column}\u001f${old}`, fresh);
  }
  return values;
}

/** A select item: the column, respelled where it is to be. */
export function respelled(column: string, respellings: readonly Respelling[]): string {
  const name = quoteName(column);
  const respelling = respellings.find((one) => one.column === column);
  if (!respelling) return name;
  const old = `concat(${quoteText(column)}, chr(31), ${respelling.text})`;
  const fresh = `(SELECT new_text FROM ${RESPELLED} WHERE old_text = ${old})`;
  const value = `coalesce(${fresh}, CAST(${name} AS VARCHAR))`;
  return `${respelling.isJson ? `CAST(${value} AS JSON)` : value} AS ${name}`;
}

function rowsOf({ pipeline, rows }: Work, file: string): string {
  const columns = storedColumns(pipeline).map(({ column }) => respelled(column, rows));
  return `(SELECT ${columns.join(', ')} FROM ${readParquet([file])})`;
}

async function writeRows({ engine, pipeline }: Work, rows: string, content: SliceContent, to: string): Promise<string> {
  const order = pipeline.sort.map(quoteName).join(', ');
  await engine.run(
    `COPY (SELECT * FROM ${rows} ORDER BY ${order}) TO ${quoteText(to)} (${parquetOptions(pipeline, content)}, PRESERVE_ORDER true)`,
  );
  return to;
}

async function writeRejects(
  { engine, rejects }: Work,
  file: string | null,
  isConcerned: boolean,
  to: string,
): Promise<string | null> {
  if (file === null) return null;
  if (!isConcerned) {
    await copyFile(file, to);
    return to;
  }
  const columns = ['pipeline', 'slice_day', 'fetch_id', 'item', 'reason', 'detail', 'raw'];
  await engine.run(
    `COPY (SELECT ${columns.map((column) => respelled(column, rejects)).join(', ')} FROM ${readParquet([file])} ORDER BY item)
     TO ${quoteText(to)} (FORMAT parquet, COMPRESSION zstd)`,
  );
  return to;
}

/** Items of the orders that the lake knows, of every version: order and item. Files that cannot be read are reported when they are respelled. */
export async function itemsInLake(
  context: RunContext,
  engine: Engine,
  orders: readonly string[],
): Promise<{ readonly order: string; readonly item: string }[]> {
  const found = new Map<string, { order: string; item: string }>();
  const files: string[] = [];
  for (const pipeline of orders.length === 0 ? [] : context.pipelines)
    if (pipeline.columns.some(({ column }) => column === 'order_item_id'))
      for (const entry of (await context.lake.slices(pipeline.name)).values())
        files.push(...wholesOf(context, entry).flatMap(({ file }) => file ?? []));
  for (let at = 0; at < files.length; at += FILES_A_STATEMENT) {
    const rows = await engine
      .rows(
        `SELECT DISTINCT order_id, order_item_id FROM ${readParquet(files.slice(at, at + FILES_A_STATEMENT), ['union_by_name = true'])}
       WHERE order_id IN (${orders.map(quoteText).join(', ')})`,
      )
      .catch(() => []);
    for (const { order_id: order, order_item_id: item } of rows)
      found.set(`${order}\u001f${item}`, { order: String(order), item: String(item) });
  }
  return [...found.values()];
}
