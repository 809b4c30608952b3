/**
 * Reads a settings file as plain data that remembers on which line each key stands.
 *
 * Error texts are our own and never quote the file: somebody may have put a secret into it.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import {
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
} from 'yaml';
import { EtlError } from '../core/errors.ts';
import type { Problem } from './problems.ts';

export interface SettingsFile {
  /** As it is shown to people. */
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Key path (joined by dots) → line, from 1. */
  readonly lines: ReadonlyMap<string, number>;
  readonly problems: readonly Problem[];
}

/** config/default.yaml with all its explanations has less than a tenth of this. */
const LARGEST_BYTES = 262_144;
/** One mistake can be an error in every line behind it. */
const MOST_PROBLEMS = 20;

const SYNTAX: Partial<Record<ErrorCode, string>> = {
  BAD_INDENT: 'the indentation does not fit the lines above, or a bracket is not closed',
  BLOCK_AS_IMPLICIT_KEY: 'two "key: value" on one line, or the indentation does not fit the lines above',
  BAD_SCALAR_START: 'a value cannot begin with this character: put it into quotes',
  BAD_DQ_ESCAPE: 'an unknown escape after a backslash: use single quotes',
  DUPLICATE_KEY: 'this key already stands in the same section',
  MISSING_CHAR: 'a quote, bracket or colon is missing',
  MULTILINE_IMPLICIT_KEY: 'a key without a value: "key: value" is expected',
  MULTIPLE_DOCS: 'a second document begins here: one is expected',
  TAB_AS_INDENT: 'a tab indents this line: use spaces',
  UNEXPECTED_TOKEN: 'something stands here that was not expected',
};

/** The file's settings. `usage/no_settings_file` when it is not there and `required`; else an absent file is empty. */
export async function readSettingsFile(file: string, cwd: string, required: boolean): Promise<SettingsFile | null> {
  const name = shownName(file, cwd);
  let bytes: Uint8Array;
  try {
    bytes = await bytesOf(file);
  } catch (cause) {
    if (cause instanceof EtlError) throw cause;
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT' && !required) return null;
    throw new EtlError('usage', 'no_settings_file', `the settings file ${name} cannot be read`, {
      cause,
      concern: { file },
      hint: required
        ? 'name a file that exists, in PARTNER_ETL_CONFIG or as part of the installation'
        : 'see the cause',
    });
  }
  return parseSettings(decode(bytes, name, file), name);
}

/** All of it, where it is a file and no larger than settings are: a device or a pipe may never end. Errors: `usage/no_settings_file`. */
async function bytesOf(file: string): Promise<Uint8Array> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (stats.isFile() && stats.size <= LARGEST_BYTES) return await handle.readFile();
    const why = stats.isFile() ? `is larger than ${LARGEST_BYTES} bytes` : 'is no file';
    throw new EtlError('usage', 'no_settings_file', `the settings file ${file} ${why}`, {
      concern: { file },
      hint: 'name a file of settings, as config/default.yaml is one',
    });
  } finally {
    await handle.close();
  }
}

function decode(bytes: Uint8Array, name: string, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new EtlError('usage', 'bad_setting', `the settings file ${name} is not UTF-8 text`, { concern: { file } });
  }
}

function parseSettings(text: string, name: string): SettingsFile {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const problems: Problem[] = document.errors.slice(0, MOST_PROBLEMS).map((error) => {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    return { where: `${name}:${line}:${col}`, accepted: SYNTAX[error.code] ?? 'this is not YAML' };
  });
  const lines = new Map<string, number>();
  if (problems.length > 0 || document.contents === null) return { name, data: {}, lines, problems };
  const lineOf = (node: Node) => lineCounter.linePos(node.range?.[0] ?? 0).line;
  if (isMap(document.contents)) {
    const aliases = new Set<number>();
    const data = plain(document.contents, [], lines, lineOf, (line) => aliases.add(line)) as Record<string, unknown>;
    const accepted = 'an alias (*name) cannot be used here: write the value out';
    for (const line of [...aliases].slice(0, MOST_PROBLEMS)) problems.push({ where: `${name}:${line}`, accepted });
    return { name, data, lines, problems };
  }
  const line = lineOf(document.contents);
  problems.push({ where: `${name}:${line}`, accepted: 'sections of settings are expected, such as "pipelines:"' });
  return { name, data: {}, lines, problems };
}

function plain(
  node: ParsedNode | Node | null,
  at: readonly string[],
  lines: Map<string, number>,
  lineOf: (node: Node) => number,
  alias: (line: number) => unknown,
): unknown {
  if (node === null) return null;
  if (isMap<Node, Node | null>(node)) {
    const data: Record<string, unknown> = {};
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : '?';
      lines.set([...at, name].join('.'), lineOf(key));
      // Not an assignment: a key called __proto__ must stay a key, to be refused like any other unknown one.
      const read = plain(value, [...at, name], lines, lineOf, alias);
      Object.defineProperty(data, name, { value: read, enumerable: true, writable: true, configurable: true });
    }
    return data;
  }
  if (isSeq<Node>(node)) return node.items.map((item, i) => plain(item, [...at, String(i)], lines, lineOf, alias));
  if (isAlias(node)) {
    alias(lineOf(node));
    return null;
  }
  return isScalar(node) ? node.value : null;
}

/** Short where it lies under the current folder, absolute elsewhere. */
function shownName(file: string, cwd: string): string {
  const relative = path.relative(cwd, file);
  return relative.startsWith('..') || path.isAbsolute(relative) ? file : relative;
}
