/**
 * The dictionary: what views and functions of the warehouse mean, once for both engines, in `sql/dictionary/<topic>.yaml`:
 *
 *   mart.ageing:
 *     about: How old is what is not decided?    # the question that it answers, one line
 *     grain: a state and a bucket of ages       # one row is …
 *     traps: [ one sentence each, where a reader would go wrong ]
 *     columns:
 *       as_of: the newest day of orders that is loaded
 *   warehouse.orders_as_of(instant):
 *     about: …
 *     arguments: { instant: … }
 *     columns: { … }                            # or `rows_of: schema.table`, or `returns: …` for a function of one value
 *
 * Columns stand in the order of the view. A test holds the dictionary against the catalogue of both engines, both ways. Facts are
 * not in it: the pipelines declare them (pipelines/*.ts); nor is the bookkeeping, whose comments stand in its migrations.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { packageRoot } from '../../disk/package-root.ts';
import { versionViews } from '../schema/version-views.ts';
import type { DictionaryEntry, NamedMeaning } from './entry.ts';

/** By `schema.name`. */
export type Dictionary = ReadonlyMap<string, DictionaryEntry>;

/** Files of the folder that are of another kind. */
const NO_TOPICS: ReadonlySet<string> = new Set(['relations.yaml', 'traps.yaml']);

const KEY = /^(warehouse|mart|etl)\.([a-z][a-z0-9_]*)(?:\(([a-z][a-z0-9_]*(?:, [a-z][a-z0-9_]*)*)?\))?$/;
const said = z.string().trim().min(1);
const meanings = z.record(z.string().regex(/^[a-z][a-z0-9_]*$/, 'a name has small letters, digits and _ only'), said);
const ENTRY = z.strictObject({
  about: said,
  grain: said.optional(),
  traps: z.array(said).default([]),
  arguments: meanings.optional(),
  returns: said.optional(),
  rows_of: z
    .string()
    .regex(/^(warehouse|mart|etl)\.[a-z][a-z0-9_]*$/, 'a table is schema.name')
    .optional(),
  columns: meanings.default({}),
});

let shipped: Promise<Dictionary> | undefined;

/**
 * The dictionary of this program, whose files are read once a process, and of the views made from these declarations. Errors:
 * `bug/dictionary` with file and reason.
 */
export async function readDictionary(pipelines: readonly Pipeline[]): Promise<Dictionary> {
  shipped ??= readTopics();
  const views = versionViews(pipelines).map(({ entry }) => [`${entry.schema}.${entry.name}`, entry] as const);
  return new Map([...(await shipped), ...views]);
}

async function readTopics(): Promise<Dictionary> {
  const folder = await dictionaryFolder();
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml') && !NO_TOPICS.has(name)).sort();
  const files = await Promise.all(
    names.map(async (name) => {
      const file = path.join(folder, name);
      return { file, entries: parseTopic(file, await readFile(file, 'utf8')) };
    }),
  );
  const all = new Map<string, DictionaryEntry>();
  for (const { file, entries } of files)
    for (const entry of entries) {
      const name = `${entry.schema}.${entry.name}`;
      if (all.has(name)) throw noDictionary(file, `${name} is in another file too`);
      all.set(name, entry);
    }
  return all;
}

/** `sql/dictionary` of this package. */
export async function dictionaryFolder(): Promise<string> {
  return path.join(await packageRoot(), 'sql', 'dictionary');
}

/** The entries of a file, in its order. Errors: `bug/dictionary`. */
export function parseTopic(file: string, text: string): DictionaryEntry[] {
  return Object.entries(parseYaml(file, text, z.record(z.string(), ENTRY))).map(([key, entry]) => {
    const [, schema, name, words] = KEY.exec(key) ?? [];
    if (schema === undefined || name === undefined)
      throw noDictionary(
        file,
        `"${key}" is not schema.name or schema.name(argument, …), schema warehouse, mart or etl`,
      );
    const inKey = key.endsWith(')') ? (words?.split(', ') ?? []) : null;
    const described = entry.arguments === undefined && inKey?.length !== 0 ? null : Object.keys(entry.arguments ?? {});
    if (inKey?.join() !== described?.join())
      throw noDictionary(file, `${key}: its arguments and those under "arguments" are not the same`);
    const { about, grain = null, traps, returns = null, rows_of: rowsOf = null } = entry;
    const columns = meaningsOf(entry.columns);
    const ways = [columns.length > 0, returns !== null, rowsOf !== null].filter(Boolean).length;
    if (ways !== 1 || (inKey === null && columns.length === 0))
      throw noDictionary(file, `${key}: it needs "columns"; a function may have "returns" or "rows_of" in their place`);
    const args = inKey === null ? null : meaningsOf(entry.arguments ?? {});
    return { schema, name, about, grain, traps, arguments: args, returns, rowsOf, columns };
  });
}

function meaningsOf(record: Readonly<Record<string, string>>): NamedMeaning[] {
  return Object.entries(record).map(([name, about]) => ({ name, about }));
}

/** A YAML file as `schema` has it. Errors: `bug/dictionary` with the line, or the place in the file, and the reason. */
export function parseYaml<T>(file: string, text: string, schema: z.ZodType<T>): T {
  const document = parseDocument(text);
  const [broken] = document.errors;
  if (broken) throw noDictionary(file, broken.message);
  const parsed = schema.safeParse(document.toJS());
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw noDictionary(file, `${issue?.path.join(' → ')}: ${issue?.message}`);
}

/** The comment that the thing has in a warehouse. */
export function commentOf({ about, grain, traps, returns }: DictionaryEntry): string {
  const parts = [
    about,
    ...(grain === null ? [] : [`One row: ${grain}`]),
    ...(returns === null ? [] : [`Gives ${returns}`]),
  ];
  const sentences = [...parts, ...traps.map((trap) => `Mind: ${trap}`)];
  return sentences.map((text) => (/[.?!]$/.test(text) ? text : `${text}.`)).join(' ');
}

function noDictionary(file: string, reason: string): EtlError {
  return new EtlError('bug', 'dictionary', `${file} is no part of the dictionary: ${reason}`, {
    concern: { file },
    hint: 'the file comes with the program: fix it, or install the program again',
  });
}
