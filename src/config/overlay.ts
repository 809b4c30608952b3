/** config/default.yaml with the operator's file laid over it key by key, checked as a whole. */
import type { z } from 'zod';
import type { Pipeline } from '../core/pipeline.ts';
import { aboveCeilings } from './ceilings.ts';
import { nearest } from './near-miss.ts';
import { looksSecret, type Problem, showValue } from './problems.ts';
import { usualSettings } from './schema/pipelines.ts';
import { type Settings, settingsSchema } from './schema/settings.ts';
import type { SettingsFile } from './settings-file.ts';

/** By file, then by line: `local.yaml:9` before `local.yaml:10`. */
const collate = new Intl.Collator('en', { numeric: true });

type Data = Readonly<Record<string, unknown>>;

export interface Checked {
  /** null when there are problems. */
  readonly settings: Settings | null;
  readonly problems: readonly Problem[];
}

/**
 * `pipelines`: whose declarations say what holds where the files say nothing; `baseUrl` is the environment's, which wins over the files';
 * `secrets`: values that no problem may show.
 */
export function overlay(
  pipelines: readonly Pipeline[],
  base: SettingsFile,
  over: SettingsFile | null,
  baseUrl: string | null,
  secrets: readonly string[],
): Checked {
  const files = over === null ? [base] : [over, base];
  const syntax = files.flatMap((file) => file.problems);
  // After a syntax error everything else would only be a consequence of it.
  if (syntax.length > 0) return { settings: null, problems: syntax };
  const shipped = merge(usualSettings(pipelines), base.data);
  const merged = over === null ? shipped : merge(shipped, over.data);
  const result = schemaOf(pipelines).safeParse(merged);
  const problems = result.success
    ? aboveCeilings(result.data, baseUrl ?? result.data.service.baseUrl).map(({ path, accepted }) =>
        wrongValue(path, accepted, merged, files, secrets),
      )
    : result.error.issues.flatMap((issue) => tell(issue, merged, files, base, secrets));
  if (result.success && problems.length === 0) return { settings: result.data, problems };
  return { settings: null, problems: problems.toSorted((a, b) => collate.compare(a.where, b.where)) };
}

const schemas = new WeakMap<readonly Pipeline[], ReturnType<typeof settingsSchema>>();

/** Made once for the same pipelines: it takes longer than all the reading, and some commands read the settings several times. */
function schemaOf(pipelines: readonly Pipeline[]): ReturnType<typeof settingsSchema> {
  const schema = schemas.get(pipelines) ?? settingsSchema(pipelines);
  schemas.set(pipelines, schema);
  return schema;
}

/** Sections are merged; a section left empty changes nothing; everything else is replaced. */
function merge(base: Data, over: Data): Data {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = Object.hasOwn(base, key) ? base[key] : undefined;
    if (isData(before) && value === null) continue;
    const after = isData(before) && isData(value) ? merge(before, value) : value;
    Object.defineProperty(merged, key, { value: after, enumerable: true, writable: true, configurable: true });
  }
  return merged;
}

function tell(
  issue: z.core.$ZodIssue,
  merged: Data,
  files: readonly SettingsFile[],
  base: SettingsFile,
  secrets: readonly string[],
): Problem[] {
  const at = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      where: locate([...at, key], files),
      key: [...at, key].join('.'),
      accepted: unknownKey(key, at, base),
    }));
  // zod's own words where a section is expected; ours everywhere else.
  const accepted =
    issue.code === 'invalid_type' && issue.expected === 'object' ? 'a section of settings' : issue.message;
  return [wrongValue(at, accepted, merged, files, secrets)];
}

function wrongValue(
  at: readonly string[],
  accepted: string,
  merged: Data,
  files: readonly SettingsFile[],
  secrets: readonly string[],
): Problem {
  const value = at.reduce<unknown>((data, name) => (isSection(data) ? data[name] : undefined), merged);
  const shown = showValue(value, secrets);
  return {
    where: locate(at, files),
    key: at.join('.'),
    ...(shown === undefined ? {} : { value: shown }),
    accepted: value === undefined ? `is missing: ${accepted} is accepted` : `${accepted} is accepted`,
  };
}

function unknownKey(key: string, at: readonly string[], base: SettingsFile): string {
  if (looksSecret(key))
    return 'secrets and client ids never stand in a settings file: set PARTNER_CLIENT_ID and PARTNER_CLIENT_SECRET_FILE, and change the secret that stood here';
  const depth = at.length + 1;
  const known = [...base.lines.keys()];
  const siblings = known.filter((path) => path.startsWith([...at, ''].join('.')) && path.split('.').length === depth);
  const names = siblings.map((path) => path.split('.').at(-1)!);
  const near = nearest(key, names);
  if (near !== null) return `unknown key; did you mean "${near}"?`;
  const elsewhere = known.find((path) => path.split('.').at(-1) === key);
  if (elsewhere !== undefined) return `unknown key here; did you mean "${elsewhere}"?`;
  return names.length === 0 ? 'unknown key' : `unknown key; known here: ${names.join(', ')}`;
}

/** File and line of the key, or of the nearest section round it. */
function locate(at: readonly string[], files: readonly SettingsFile[]): string {
  for (let depth = at.length; depth > 0; depth--) {
    const key = at.slice(0, depth).join('.');
    for (const file of files) {
      const line = file.lines.get(key);
      if (line !== undefined) return `${file.name}:${line}`;
    }
  }
  return files.at(-1)!.name;
}

/** Lists as well, whose keys are their places. */
function isSection(value: unknown): value is Data {
  return typeof value === 'object' && value !== null;
}

function isData(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
