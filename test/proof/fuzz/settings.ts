/** Settings files: they are taken as they say, or refused with file, line and what is accepted; nothing else comes of them. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { pipelines } from '../../../pipelines/index.ts';
import { overlay } from '../../../src/config/overlay.ts';
import { refuse } from '../../../src/config/problems.ts';
import { readSettingsFile, type SettingsFile } from '../../../src/config/settings-file.ts';
import { EtlError } from '../../../src/core/errors.ts';
import { findPackage } from '../../../src/disk/package-root.ts';
import { alsoDamaged, hostileText, numberLiteral } from './hostile.ts';
import { hasTwins, isMembers, isNumeral, type Plain, plainJson } from './plain-json.ts';
import { type Subject, textOf, utf8 } from './subject.ts';

const NAME = 'local.yaml';
let base: Promise<SettingsFile> | null = null;

async function defaults(): Promise<SettingsFile> {
  const { root } = await findPackage(import.meta.dirname);
  return (await readSettingsFile(path.join(root, 'config', 'default.yaml'), root, true))!;
}

async function prove(input: Uint8Array): Promise<void> {
  base ??= defaults();
  const folder = await mkdtemp(path.join(tmpdir(), 'etl-fuzz-'));
  try {
    await writeFile(path.join(folder, NAME), input);
    await proveIn(folder, await base, input);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function proveIn(folder: string, defaults: SettingsFile, input: Uint8Array): Promise<void> {
  let over: SettingsFile | null;
  try {
    over = await readSettingsFile(path.join(folder, NAME), folder, true);
  } catch (error) {
    assert.ok(error instanceof EtlError, String(error));
    assert.equal(error.kind, 'usage');
    assert.ok(error.message.includes(NAME));
    return;
  }
  const { settings, problems } = overlay(pipelines, defaults, over, null, []);
  assert.equal(settings === null, problems.length > 0);
  for (const { where, accepted } of problems) {
    assert.ok(where.startsWith(NAME), `${where} is not in the file`);
    assert.notEqual(accepted, '');
  }
  if (settings === null) {
    assert.equal(refuse(problems).kind, 'usage');
    return;
  }
  // JSON is YAML as well: there another reader tells what the file says.
  const told = plainJson(textOf(input) ?? '');
  if (!isMembers(told)) return;
  assert.ok(!hasTwins(told), 'a key that stands there twice was taken');
  proveTaken(told, settings, defaults.data);
}

/** Whatever the file says stands in the settings; a section left empty says nothing. */
function proveTaken(told: Plain, taken: unknown, before: unknown): void {
  const isSection = typeof before === 'object' && before !== null && !Array.isArray(before);
  if (told === null && isSection) return;
  if (isMembers(told))
    for (const [name, value] of told.members)
      proveTaken(
        value,
        (taken as Record<string, unknown>)[name],
        isSection ? (before as Record<string, unknown>)[name] : undefined,
      );
  else if (isNumeral(told)) assert.equal(taken, Number(told.number));
  else if (Array.isArray(told))
    for (const [i, one] of (told as Plain[]).entries()) proveTaken(one, (taken as unknown[])[i], undefined);
  else assert.equal(taken, told);
}

const KEYS = [
  ...[
    'service',
    'service.baseUrl',
    'service.timeZone',
    'service.token.mostPerHour',
    'service.retry.tries',
    'service.reports.version',
  ],
  ...[
    'service.reports.orders.path',
    'service.reports.orders.budget.calls',
    'service.retailer.commission.bulk.eansPerRequest',
  ],
  ...[
    'eans.file',
    'eans.query',
    'pipelines',
    'pipelines.orders.lookbackDays',
    'pipelines.orders.schedule',
    'pipelines.orders.startDay',
  ],
  ...[
    'pipelines.products.markets',
    'pipelines.reductions.delimiter',
    'pipelines.reductions.columns.ean',
    'serve.port',
    'push.path',
  ],
  ...[
    'push.sourceAddresses',
    'push.tls',
    'subIds.grammar',
    'targets.duckdb.enabled',
    'guards.shrink.keepRatio',
    'guards.shrink.minRows',
  ],
  ...[
    'retention',
    'alerts',
    '__proto__',
    'constructor.prototype',
    'service.__proto__.x',
    'toString',
    'pipelines.order',
    '',
  ],
];

const scalar: fc.Arbitrary<Plain> = fc.oneof(
  numberLiteral.map((number) => ({ number })),
  fc.integer({ min: -1, max: 400 }).map((number) => ({ number: String(number) })),
  fc.constantFrom<Plain>(
    null,
    true,
    false,
    'NL',
    '{site}|{placement}',
    '2026-01-01',
    '30 5 * * *',
    '/path',
    'Europe/Paris',
    'https://example.org',
  ),
  hostileText,
);
const value: fc.Arbitrary<Plain> = fc.oneof(
  { weight: 5, arbitrary: scalar },
  fc.array(scalar, { maxLength: 3 }),
  fc.array(fc.tuple(hostileText, scalar), { maxLength: 3 }).map((members) => ({ members })),
);

/** Keys with dots become sections in each other. */
function section(entries: readonly (readonly [string, Plain])[]): Plain {
  const members = entries.map(([key, one]): [string, Plain] => {
    const [name = '', ...rest] = key.split('.');
    return [name, rest.length === 0 ? one : section([[rest.join('.'), one]])];
  });
  return { members };
}

function write(json: Plain): string {
  if (isMembers(json))
    return `{${json.members.map(([name, one]) => `${JSON.stringify(name)}: ${write(one)}`).join(', ')}}`;
  if (isNumeral(json)) return json.number;
  return Array.isArray(json) ? `[${(json as Plain[]).map(write).join(', ')}]` : JSON.stringify(json);
}

const yaml = fc.constantFrom(
  ...[
    'a: &a [*a]',
    '<<: {service: 1}',
    '&x service: *x',
    'service: !!js/function x',
    '? [a, b]\n: c',
    '--- a\n--- b',
    '%YAML 9.9\n---\n',
  ],
  ...[
    'service: 2026-01-01',
    'serve: {port: 0x1F}',
    'serve: {port: .inf}',
    'serve: {port: 1_0}',
    'push: {tls: ~}',
    '"\\uD800": 1',
    '\t- x',
  ],
);

export const settings: Subject = {
  name: 'settings',
  extension: 'yaml',
  inputs: alsoDamaged(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc
          .array(fc.tuple(fc.constantFrom(...KEYS), value), { minLength: 1, maxLength: 2 })
          .map((all) => utf8(write(section(all)))),
      },
      {
        weight: 2,
        arbitrary: fc
          .tuple(fc.constantFrom(...KEYS), hostileText)
          .map(([key, text]) => utf8(`${key.replaceAll('.', ': {')}: ${text}`)),
      },
      yaml.map(utf8),
      hostileText.map(utf8),
    ),
  ),
  prove,
  shortRuns: 80,
  large: {
    'a text of 1 MB': () => utf8(`service: "${'x'.repeat(1024 * 1024)}"`),
    'a hundred thousand brackets': () => utf8(`service: ${'['.repeat(100_000)}`),
    'sections in each other': () => utf8('{"service": '.repeat(15_000)),
    'aliases of aliases': () =>
      utf8(Array.from({ length: 30 }, (_, i) => `a${i}: &a${i} [${i > 0 ? `*a${i - 1}, *a${i - 1}` : 1}]`).join('\n')),
  },
};
