/** The reductions file, against a reader of CSV that goes letter by letter: every line is told, as it stands or as one set aside. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { EtlError } from '../../../src/core/errors.ts';
import { type ReductionFormat, reductionLines } from '../../../src/extract/reduction-lines.ts';
import { madeLines } from '../../extract/made-lines.ts';
import { alsoDamaged, hostileText, noNumber, numberLiteral } from './hostile.ts';
import { fixed } from './plain-json.ts';
import { type Subject, utf8 } from './subject.ts';

const FORMAT: ReductionFormat = {
  delimiter: ',',
  columns: {
    ean: 'EAN',
    maximumPrice: 'MaximumPrice',
    costReduction: 'CostReduction',
    startDate: 'StartDate',
    endDate: 'EndDate',
  },
};
const FIELDS = Object.keys(FORMAT.columns);
const HEADERS = Object.values(FORMAT.columns);
const FAULTS = ['unknown_header', 'empty_file', 'line_too_long'];

/** The fields of a line; null where quotes do not fit. Blanks may stand around the quotes. */
function fieldsIn(line: string): string[] | null {
  const fields: string[] = [];
  let state: 'start' | 'plain' | 'quoted' | 'behind' = 'start';
  let field = '';
  let before = '';
  for (const letter of line) {
    const last = before;
    before = letter;
    if (state === 'quoted') {
      if (letter === '"') state = 'behind';
      else field += letter;
    } else if (letter === ',') {
      fields.push(field);
      field = '';
      state = 'start';
    } else if (state === 'behind') {
      if (letter === '"' && last === '"') {
        field += letter;
        state = 'quoted';
      } else if (letter.trim() !== '') return null;
    } else if (state === 'start' && letter === '"') {
      field = '';
      state = 'quoted';
    } else if (state === 'start' && letter === ' ') field += letter;
    else {
      field += letter;
      state = 'plain';
    }
  }
  return state === 'quoted' ? null : [...fields, field];
}

interface Read {
  readonly header: readonly string[] | null;
  readonly lines: readonly string[];
}

function linesIn(input: Uint8Array): Read {
  const texts = new TextDecoder().decode(input).split('\n');
  const [header, ...lines] = texts.map((text) => text.replace(/\r$/, '')).filter((text) => text !== '');
  return { header: header === undefined ? null : (fieldsIn(header) ?? []).map((name) => name.trim()), lines };
}

async function prove(input: Uint8Array): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'etl-fuzz-'));
  try {
    await proveIn(folder, input);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function proveIn(folder: string, input: Uint8Array): Promise<void> {
  async function* body() {
    const step = input.length < 10_000 ? 7 : 65_536;
    for (let i = 0; i < input.length; i += step) yield input.subarray(i, i + step);
  }
  const { header, lines } = linesIn(input);
  const lower = header?.map((name) => name.toLowerCase()) ?? [];
  const isKnown = HEADERS.every((name) => lower.filter((one) => one === name.toLowerCase()).length === 1);
  let told: Awaited<ReturnType<typeof reductionLines>>;
  try {
    const files = { plain: path.join(folder, 'lines.csv'), others: path.join(folder, 'lines.ndjson') };
    told = await reductionLines(body(), FORMAT, files);
  } catch (error) {
    assert.ok(error instanceof EtlError && error.kind === 'failed' && FAULTS.includes(error.code), String(error));
    assert.ok(!isKnown || error.code === 'line_too_long', 'a known header was refused');
    return;
  }
  assert.ok(isKnown, 'an unknown header was taken');
  const made = (await madeLines(told)).all;
  assert.deepEqual([made.length, told.lines], [lines.length, lines.length]);
  for (const [i, line] of lines.entries()) proveLine(made[i]!, fixed(line), i, lower, header!);
}

function proveLine(
  told: Readonly<Record<string, string>>,
  line: string,
  i: number,
  lower: readonly string[],
  header: readonly string[],
): void {
  const fields = fieldsIn(line);
  const { _i, _raw, _b, _x, ...values } = told;
  assert.deepEqual([_i, _raw], [String(i), line.slice(0, 65_536).toWellFormed()]);
  if (fields?.length !== header.length) {
    assert.match(String(_b), fields ? /^wrong_fields:/ : /^bad_quotes:/, line);
    return;
  }
  assert.equal(_b, undefined, line);
  const wanted = FIELDS.map((field, k) => [field, fields[lower.indexOf(HEADERS[k]!.toLowerCase())]!.trim()]);
  assert.deepEqual(values, Object.fromEntries(wanted.filter(([, value]) => value !== '')));
  const known = HEADERS.map((name) => lower.indexOf(name.toLowerCase()));
  const others = fields.filter((_, place) => !known.includes(place));
  assert.deepEqual(others.length === 0 ? [] : Object.values(JSON.parse(_x!) as object).sort(), others.sort());
}

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
const cell = fc.oneof(
  fc.stringMatching(/^[0-9]{13}$/),
  numberLiteral,
  noNumber,
  fc.constantFrom('2018-05-03', '2018-02-30', ''),
  hostileText.map(quoted),
  hostileText,
);
const header = fc.oneof(
  { weight: 8, arbitrary: fc.shuffledSubarray(HEADERS, { minLength: 5 }) },
  fc
    .tuple(
      fc.shuffledSubarray(HEADERS, { minLength: 4 }),
      fc.array(fc.oneof(hostileText.map(quoted), fc.constantFrom('Extra', 'extra', ...HEADERS)), { maxLength: 3 }),
    )
    .map(([known, more]) => [...known, ...more]),
);
const file = header.chain((names) =>
  fc
    .tuple(
      fc.array(
        fc.oneof(
          { weight: 9, arbitrary: fc.array(cell, { minLength: names.length, maxLength: names.length }) },
          fc.array(cell, { maxLength: 7 }),
        ),
        { maxLength: 5 },
      ),
      fc.constantFrom('\n', '\r\n', '\n\n'),
      fc.constantFrom('', '\ufeff'),
    )
    .map(([rows, end, mark]) => utf8(`${mark}${[names, ...rows].map((row) => row.join(',')).join(end)}${end}`)),
);

const withLine = (line: string) => utf8(`${HEADERS.join(',')}\n${line}\n`);

export const reductionsCsv: Subject = {
  name: 'reductions-csv',
  extension: 'csv',
  inputs: alsoDamaged(file),
  prove,
  shortRuns: 150,
  large: {
    'a line of 10 MB': () => withLine('x'.repeat(10 * 1024 * 1024)),
    'a million fields': () => withLine(','.repeat(1_000_000)),
    'a million quotes': () => withLine('"'.repeat(1_000_000)),
  },
};
