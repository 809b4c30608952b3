/** How tables join, and where readers go wrong: `sql/dictionary/relations.yaml` and `traps.yaml`. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { dictionaryFolder, parseYaml } from '../warehouse/dictionary/dictionary.ts';

/** `many to one`: many rows of `from` belong to one of `to`, or to none where it says `at most one`. */
export type Cardinality = 'many to one' | 'many to at most one' | 'one to at most one' | 'many to many';

export interface Relation {
  /** `schema.name`. */
  readonly from: string;
  readonly columns: readonly string[];
  readonly to: string;
  readonly toColumns: readonly string[];
  readonly cardinality: Cardinality;
  /** What else the join needs; null for nothing. */
  readonly note: string | null;
}

/** Relations that are drawn together. */
export interface RelationGroup {
  readonly title: string;
  readonly about: string;
  readonly relations: readonly Relation[];
}

export interface Trap {
  /** Tables and columns that it is about, as `schema.name` or `schema.name.column`; none: everything. */
  readonly on: readonly string[];
  readonly trap: string;
}

const names = z.array(z.string()).min(1);
const GROUPS = z.array(
  z.strictObject({
    title: z.string(),
    about: z.string(),
    relations: z.array(
      z.strictObject({
        from: z.string(),
        columns: names,
        to: z.string(),
        to_columns: names,
        cardinality: z.enum(['many to one', 'many to at most one', 'one to at most one', 'many to many']),
        note: z.string().optional(),
      }),
    ),
  }),
);
const TRAPS = z.array(z.strictObject({ trap: z.string(), on: z.array(z.string()).default([]) }));

export async function readRelations(): Promise<RelationGroup[]> {
  const { file, text } = await readNamed('relations.yaml');
  return parseYaml(file, text, GROUPS).map(({ title, about, relations }) => ({
    title,
    about,
    relations: relations.map(({ to_columns: toColumns, note = null, ...rest }) => ({ ...rest, toColumns, note })),
  }));
}

export async function readTraps(): Promise<Trap[]> {
  const { file, text } = await readNamed('traps.yaml');
  return parseYaml(file, text, TRAPS);
}

async function readNamed(name: string): Promise<{ readonly file: string; readonly text: string }> {
  const file = path.join(await dictionaryFolder(), name);
  return { file, text: await readFile(file, 'utf8') };
}
