import { describe, expect, test } from 'vitest';
import type { Fault } from '../../../src/sandbox/sandbox.ts';
import { type Client, openSandbox, type Reply } from './client.ts';

const CSV = { accept: 'application/vnd.retailer.v3+csv' };
const HEADER = 'EAN,MaximumPrice,CostReduction,StartDate,EndDate';
const NAME = 'Verlaging_Bemiddelingsbijdrage_10062026_0005.csv';

const file = (client: Client): Promise<Reply> => client.call('/retailer/reductions', { headers: CSV });
const latest = (client: Client): Promise<Reply> => client.call('/retailer/reductions/latest', { headers: CSV });

/** A fault without its aim. */
type Struck = Omit<Fault, 'endpoint'> & Record<string, unknown>;

/** The file under faults, its sound lines without the header, and its fields. */
async function under(...faults: readonly Struck[]) {
  const client = await openSandbox({ seriesLength: 50 });
  for (const fault of faults) client.sandbox.addFault({ endpoint: 'reductions', ...fault } as Fault);
  const struck = await file(client);
  const lines = client.sandbox.reductionsFile().text.trimEnd().split('\n').slice(1);
  return { client, struck, lines, rows: lines.map((line) => line.split(',')) };
}

const whole = (lines: readonly string[]) => `${lines.join('\n')}\n`;

describe('the name of the file stands in Content-Disposition', () => {
  test.each([
    ['unquoted', undefined, `attachment; filename=${NAME}`],
    ['quoted', undefined, `attachment; filename="${NAME}"`],
    ['quoted', 'a "b" \\c.csv', 'attachment; filename="a \\"b\\" \\\\c.csv"'],
    ['extended', undefined, `attachment; filename*=UTF-8''${NAME}`],
    ['extended', "één's (1)*.csv", "attachment; filename*=UTF-8''%C3%A9%C3%A9n%27s%20%281%29%2A.csv"],
    ['extended', 'a\0b.csv', "attachment; filename*=UTF-8''a%00b.csv"],
    ['both', undefined, `attachment; filename="another_name.csv"; filename*=UTF-8''${NAME}`],
    ['two-names', undefined, `attachment; filename=${NAME}; filename=another_name.csv`],
    ['two-headers', undefined, `attachment; filename=${NAME}, attachment; filename=another_name.csv`],
    ['nameless', undefined, 'attachment'],
    ['missing', undefined, undefined],
    ['unquoted', '../../etc/x', 'attachment; filename=../../etc/x'],
    ['quoted', '/etc/passwd', 'attachment; filename="/etc/passwd"'],
    ['unquoted', 'é.csv', 'attachment; filename=Ã©.csv'],
    ['unquoted', 'x'.repeat(4000), `attachment; filename=${'x'.repeat(4000)}`],
  ] as const)('%s %s', async (form, name, expected) => {
    const { client, struck } = await under({ kind: 'disposition', form, ...(name === undefined ? {} : { name }) });
    expect(struck.headers['content-disposition']).toBe(expected);
    expect((await latest(client)).text).toBe(NAME);
    expect((await file(client)).headers['content-disposition']).toBe(`attachment; filename=${NAME}`);
  });
});

test.each(['Verlaging_Bemiddelingsbijdrage_10062026_1200.csv', '../../etc/x', '', 'a\0b\n', 'x'.repeat(4000)])(
  'the name call may tell a name that the download does not carry: %s',
  async (name) => {
    const client = await openSandbox();
    client.sandbox.addFault({ endpoint: 'reductions-latest', kind: 'announced-name', name });
    expect((await latest(client)).text).toBe(name);
    expect((await file(client)).headers['content-disposition']).toBe(`attachment; filename=${NAME}`);
    expect((await latest(client)).text).toBe(NAME);
  },
);

describe('the file is written', () => {
  test('with another delimiter', async () => {
    const { struck, lines } = await under({ kind: 'file-format', delimiter: ';' });
    expect(struck.text).toBe(whole([HEADER, ...lines]).replaceAll(',', ';'));
  });

  test('with quotes, a byte order mark, other line ends and no end of the last line', async () => {
    const format = { quoted: true, byteOrderMark: true, lineEnd: 'crlf', lastLineEnd: false };
    const { struck, lines } = await under({ kind: 'file-format', ...format });
    const quoted = [HEADER, ...lines].map((line) => `"${line.replaceAll(',', '","')}"`);
    expect(struck.text).toBe(`\uFEFF${quoted.join('\r\n')}`);
  });

  test('with columns in another order, an unknown one and without another', async () => {
    const columns = ['EndDate', 'Shop', 'EAN', 'CostReduction', 'StartDate'];
    const { struck, rows } = await under({ kind: 'file-format', columns });
    const moved = rows.map(([ean, , cost, start, end]) => [end, 'new', ean, cost, start].join(','));
    expect(struck.text).toBe(whole([columns.join(','), ...moved]));
  });

  test('with another header, and without any', async () => {
    const { client, struck, lines } = await under({ kind: 'file-format', header: 'Ean,Max' });
    expect(struck.text).toBe(whole(['Ean,Max', ...lines]));
    client.sandbox.addFault({ endpoint: 'reductions', kind: 'file-format', header: '' });
    expect((await file(client)).text).toBe(whole(lines));
  });

  test('in several ways at once', async () => {
    const { struck, lines } = await under(
      { kind: 'file-format', delimiter: ';' },
      { kind: 'file-format', lineEnd: 'cr' },
      { kind: 'disposition', form: 'missing' },
    );
    const expected = whole([HEADER, ...lines]).replaceAll(',', ';');
    expect(struck.text).toBe(expected.replaceAll('\n', '\r'));
    expect(struck.headers['content-disposition']).toBeUndefined();
  });

  test.each([
    ['empty', ''],
    ['header-only', `${HEADER}\n`],
  ] as const)('with nothing in it: %s', async (content, expected) => {
    const { struck } = await under({ kind: 'file-content', content });
    expect([struck.status, struck.text]).toEqual([200, expected]);
  });

  test('up to some byte only, in good order or not', async () => {
    const { client, struck, lines } = await under({ kind: 'truncate', bytes: 120 });
    expect([struck.text, struck.broken]).toEqual([whole([HEADER, ...lines]).slice(0, 120), false]);
    client.sandbox.addFault({ endpoint: 'reductions', kind: 'cut', bytes: 120 });
    expect((await file(client)).broken).toBe(true);
  });
});

describe('a line is broken', () => {
  const fields = (change: (row: string[]) => string[]) => (line: string) => change(line.split(',')).join(',');
  test.each([
    ['few-fields', fields((row) => row.slice(0, 4))],
    ['many-fields', (line: string) => `${line},more`],
    ['bad-number', fields((row) => row.with(2, 'n/a'))],
    ['bad-day', fields((row) => row.with(3, '2026-02-30'))],
    ['bad-ean', fields((row) => row.with(0, '123'))],
    ['open-quote', (line: string) => `"${line}`],
    ['nul', fields((row) => row.with(0, `${row[0]}\0`))],
    ['duplicate', (line: string) => line],
  ])('%s: as an extra one, and instead of the sound one', async (how, broken) => {
    const { client, struck, lines } = await under({ kind: 'broken-line', how, line: 2 });
    expect(struck.text).toBe(whole([HEADER, ...lines.toSpliced(2, 0, broken(lines[2]!))]));
    client.sandbox.addFault({ endpoint: 'reductions', kind: 'broken-line', how, as: 'instead' } as Fault);
    expect((await file(client)).text).toBe(whole([HEADER, ...lines.toSpliced(0, 1, broken(lines[0]!))]));
  });

  test('into bytes that are no UTF-8', async () => {
    const { struck } = await under({ kind: 'broken-line', how: 'invalid-utf8' });
    expect(struck.body.includes(0xff)).toBe(true);
  });

  test('into any text, also an empty one', async () => {
    const { struck, lines } = await under(
      { kind: 'broken-line', how: 'text', text: '' },
      { kind: 'broken-line', how: 'text', text: 'é;', line: 1 },
    );
    expect(struck.text).toBe(whole([HEADER, '', lines[0]!, 'é;', ...lines.slice(1)]));
  });
});

test.each([
  [{ endpoint: 'orders', kind: 'file-content', content: 'empty' }],
  [{ endpoint: 'reductions', kind: 'announced-name', name: 'x' }],
  [{ endpoint: 'reductions-latest', kind: 'announced-name' }],
  [{ endpoint: 'reductions-latest', kind: 'disposition', form: 'quoted' }],
  [{ endpoint: 'reductions', kind: 'disposition', form: 'round' }],
  [{ endpoint: 'reductions', kind: 'disposition', form: 'quoted', name: 'a\0b' }],
  [{ endpoint: 'reductions', kind: 'disposition', form: 'extended', name: '\ud800' }],
  [{ endpoint: 'reductions', kind: 'file-format', lineEnd: 'none' }],
  [{ endpoint: 'reductions', kind: 'broken-line', how: 'badly' }],
  [{ endpoint: 'reductions', kind: 'null-item' }],
])('a fault that could never strike is refused: %j', async (fault) => {
  const { sandbox } = await openSandbox();
  expect(() => sandbox.addFault(fault as never)).toThrow(
    expect.objectContaining({ kind: 'usage', code: 'bad_fault', hint: expect.any(String) }),
  );
});
