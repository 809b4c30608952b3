/** `lookup` as it is typed, against the sandbox: what a person reads, what a program reads, and that nothing is stored. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { fileLocks } from '../../../src/store/sqlite/locks.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { TextWriter } from '../surroundings.ts';
import { typedIn } from '../typed.ts';

/** Sound, and known to nobody. */
const UNKNOWN = '9999999999994';
const BOUNDARY = { maximumPrice: '32.65', costReduction: '15.92', startDate: '2026-03-01', endDate: '2026-03-31' };

let world: World;
/** Known, and offered in both countries; `a` has one reduction, the others none. */
let a: string;
let b: string;
let c: string;

beforeAll(async () => {
  world = await openWorld();
  const { sandbox } = world;
  const offered = (ean: string) => ['NL', 'BE'].every((country) => sandbox.truthOfProduct(ean, country, 'nl'));
  [a = '', b = '', c = ''] = sandbox.eans(50).filter(offered);
  sandbox.change({ kind: 'commission-reductions', ean: a, reductions: [BOUNDARY] });
  for (const ean of [b, c]) sandbox.change({ kind: 'commission-reductions', ean, reductions: [] });
});
afterEach(() => {
  world.sandbox.clearFaults();
  world.sandbox.change({ kind: 'unknown-ean', as: 'refuse', status: 400 });
  world.clock.set(world.clock.now() + 60_000);
});
afterAll(() => world.close());

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  readonly terminal?: { readonly isTTY: true; readonly columns: number };
}

/** `partner-etl lookup <words>`, and how many calls of each endpoint it made. */
async function lookup(words: readonly string[], { env = {}, terminal }: Options = {}) {
  // A terminal is not shown every call, as a log file is.
  const [stdout, stderr] = [new TextWriter(terminal), new TextWriter({ isTTY: true, columns: 200 })];
  const before = calls();
  const { code } = await typedIn(world, ['lookup', ...words], { env, stdout, stderr });
  const made = Object.entries(calls()).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
  const asked = Object.fromEntries(made.filter(([name, count]) => name !== 'token' && count > 0));
  return { code, out: stdout.text, err: stderr.text, asked };
}

const calls = (): Record<string, number> => ({ ...world.sandbox.stats.calls });
const lines = (text: string) => text.split('\n').map((line) => line.trim().replaceAll(/ {2,}/g, ' | '));

describe('lookup commission', () => {
  it('asks for one EAN by the single call', async () => {
    const { code, out, err, asked } = await lookup(['commission', a, '--price', '24.90']);
    expect({ code, err, asked }).toEqual({ code: 0, err: '', asked: { commission: 1 } });
    const { fixedAmount, percentage, totalCost, totalCostWithoutReduction } = truth(a, '24.9');
    const row = [a, 'NEW', '24.9', fixedAmount, percentage, totalCost, totalCostWithoutReduction].join(' | ');
    expect(lines(out)).toEqual([
      'ean | condition | price | fixed | percentage | total | without reduction | reductions',
      expect.stringMatching(/^─/),
      `${row} | ≤ 32.65: −15.92, 2026-03-01..2026-03-31`,
      '',
    ]);
  });

  it('asks for many by the bulk call, each once, in the order typed', async () => {
    const { code, out, asked } = await lookup(['commission', c, a, b, a]);
    expect({ code, asked }).toEqual({ code: 0, asked: { 'commission-bulk': 1 } });
    expect(lines(out).map((line) => line.split(' | ')[0])).toEqual(['ean', expect.anything(), c, a, b, '']);
  });

  it('asks for 250 in three calls', async () => {
    const { code, out, asked } = await lookup(['commission', ...world.sandbox.eans(250)]);
    expect({ code, asked }).toEqual({ code: 0, asked: { 'commission-bulk': 3 } });
    expect(lines(out)).toHaveLength(2 + 250 + 1);
  });

  test.each(['good', 'Good', 'GOOD'])('takes the condition %s', async (condition) => {
    const { code, out } = await lookup(['commission', b, '--condition', condition]);
    expect(code).toBe(0);
    expect(lines(out)[2]).toMatch(new RegExp(`^${b} \\| GOOD \\| `));
  });

  it('shows amounts with the digits that were sent', async () => {
    const json = '12345678901234567890.123456789000';
    world.sandbox.addFault({ endpoint: 'commission', kind: 'raw-value', field: 'fixedAmount', json });
    expect((await lookup(['commission', b])).out).toContain(`  ${json}  `);
  });

  it('cuts no digit on a narrow terminal, and leaves out columns in which nothing stands', async () => {
    const { out } = await lookup(['commission', b, c], { terminal: { isTTY: true, columns: 30 } });
    expect(lines(out)[0]).toBe('ean | condition | fixed | percentage');
    expect(out).not.toContain('…');
    expect(out).toContain(`\n${b} `);
  });

  it('--json: the record as sent, digits kept', async () => {
    const json = '12345678901234567890.123456789000';
    world.sandbox.addFault({ endpoint: 'commission', kind: 'raw-value', field: 'fixedAmount', json });
    const { code, out } = await lookup(['commission', a, '--price', '20.50', '--json']);
    expect(code).toBe(0);
    expect(out).toContain(`\n        "fixedAmount": ${json},\n`);
    expect(JSON.parse(out)).toEqual({
      commissions: [
        {
          ...{ ean: a, condition: 'NEW', price: 20.5, outcome: 'found', reason: null },
          commission: {
            ...{ ean: a, condition: 'NEW', unitPrice: 20.5, fixedAmount: expect.any(Number) },
            ...{ percentage: expect.any(Number), totalCost: expect.any(Number) },
            totalCostWithoutReduction: expect.any(Number),
            reductions: [{ ...BOUNDARY, maximumPrice: 32.65, costReduction: 15.92 }],
          },
        },
      ],
    });
  });
});

describe('commissions that the service does not tell', () => {
  it('of one EAN: the reason of the service, and 3', async () => {
    const { code, out, err } = await lookup(['commission', UNKNOWN]);
    expect({ code, err }).toEqual({ code: 3, err: '' });
    expect(out).toMatch(new RegExp(`^${UNKNOWN}: not found: .*No product with EAN ${UNKNOWN}`));
  });

  test.each<['refuse' | 'refuse-unnamed' | 'leave-out', 400 | 404, string]>([
    ['refuse', 400, 'refused: .*invalid value'],
    ['refuse', 404, 'not found: .*No product'],
    ['refuse-unnamed', 400, 'refused: .*invalid value'],
    ['leave-out', 400, 'not found: the answer leaves it out'],
  ])('of many, where the service would %s with %i: the others are found all the same', async (as, status, said) => {
    world.sandbox.change({ kind: 'unknown-ean', as, status });
    const { code, out } = await lookup(['commission', a, UNKNOWN, b, c]);
    expect(code).toBe(3);
    const [, , ...rows] = lines(out);
    expect(rows).toEqual([
      ...[a, b, c].map((ean) => expect.stringMatching(`^${ean} \\| NEW \\|`)),
      expect.stringMatching(`^${UNKNOWN}: ${said}`),
      '',
    ]);
  });

  it('a price that the service refuses is said for every EAN', async () => {
    const { code, out } = await lookup(['commission', a, b, '--price', '1.234567']);
    expect(code).toBe(3);
    expect(lines(out)).toEqual([...[a, b].map((ean) => expect.stringMatching(`^${ean}: refused: .*1\\.234567`)), '']);
  });

  it('what is refused for 20 EANs, one by one, is a wrong request: 1, with the fix, and the rest is not asked', async () => {
    const eans = world.sandbox.eans(150);
    const { code, out, err } = await lookup(['commission', ...eans, '--price', '1.234567']);
    expect(code).toBe(1);
    const said = lines(out);
    expect(said).toHaveLength(150 + 1);
    expect(said.filter((line) => line.includes(': refused: ')).length).toBeGreaterThanOrEqual(20);
    expect(said.at(-2)).toMatch(/^\d{13}: failed: /);
    expect(err).toContain('fix: the request itself seems to be wrong');
  });

  it('--json names outcome and reason', async () => {
    const { code, out } = await lookup(['commission', UNKNOWN, a, '--json']);
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({
      commissions: [
        { ean: UNKNOWN, price: null, outcome: 'refused', reason: expect.stringContaining(UNKNOWN), commission: null },
        { ean: a, outcome: 'found', reason: null, commission: { ean: a } },
      ],
    });
  });

  it('an answer about another EAN or condition is none', async () => {
    world.sandbox.addFault({ endpoint: 'commission', kind: 'unasked', otherEan: b });
    expect(await lookup(['commission', a])).toMatchObject({
      code: 3,
      out: `${a}: rejected: the service answered about the EAN ${b}\n`,
    });
    world.sandbox.addFault({ endpoint: 'commission', kind: 'raw-value', field: 'condition', json: '"GOOD"' });
    expect(await lookup(['commission', a])).toMatchObject({
      code: 3,
      out: `${a}: rejected: the service answered about the condition GOOD\n`,
    });
  });
});

describe('lookup product', () => {
  it('tells what is known, a line each', async () => {
    world.sandbox.change({ kind: 'product', ean: a, price: '12.50', strikethroughPrice: '15.00' });
    const { code, out, err, asked } = await lookup(['product', a]);
    expect({ code, err, asked }).toEqual({ code: 0, err: '', asked: { product: 1 } });
    const product = world.sandbox.truthOfProduct(a, 'NL', 'nl');
    expect(lines(out)).toEqual([
      `${a} (NL, nl)`,
      `title | ${product?.title}`,
      'price | 12.5',
      'struck-through price | 15',
      `delivery | Op voorraad. Voor 23:59 uur besteld, morgen in huis`,
      `rating | ${product?.rating}`,
      `description | ${product?.title}: goed voor elke dag. Niet tevreden? Geld terug.`,
      `url | ${product?.url}`,
      expect.stringMatching(/^image \| https:\/\/media\.example\.org\/\d+\/550x550\.jpg$/),
      expect.stringMatching(/^gpc \| .+ > .+$/),
      'specifications | 2',
      '',
    ]);
  });

  it('asks for many by a call each, and for Belgium in French where that is named', async () => {
    const { code, out, asked } = await lookup(['product', a, b, '--country', 'be', '--language', 'FR']);
    expect({ code, asked }).toEqual({ code: 0, asked: { product: 2 } });
    expect(out.match(/^\d{13} \(BE, fr\)$/gm)).toEqual([`${a} (BE, fr)`, `${b} (BE, fr)`]);
    expect(out).toContain('pour tous les jours');
  });

  it('has no offer in a country: not found, and 3', async () => {
    world.sandbox.change({ kind: 'product-offered', ean: c, country: 'BE', offered: false });
    const { code, out } = await lookup(['product', c, b, '--country', 'BE']);
    expect(code).toBe(3);
    expect(out).toMatch(new RegExp(`^${c} \\(BE, nl\\): not found: .*No offer for product ${c} in BE\\.\n`));
    expect(out).toContain(`\n${b} (BE, nl)\n  title `);
  });

  test.each([
    [['--language', 'de'], 'NL, de', 'not acceptable: .*"de" is not supported'],
    [['--country', 'DE'], 'DE, nl', 'bad request: .*must be one of NL, BE'],
  ])('%j is an outcome', async (options, market, said) => {
    const { code, out } = await lookup(['product', a, ...options]);
    expect(code).toBe(3);
    expect(out).toMatch(new RegExp(`^${a} \\(${market}\\): ${said}`));
  });

  it('--json: the record as sent, digits kept', async () => {
    const json = '4.500000000000000000001';
    world.sandbox.addFault({ endpoint: 'product', ean: a, kind: 'raw-value', field: 'rating', json });
    const { code, out } = await lookup(['product', a, UNKNOWN, '--json']);
    expect(code).toBe(3);
    expect(out).toContain(`"rating": ${json},\n`);
    expect(JSON.parse(out)).toMatchObject({
      country: 'NL',
      language: 'nl',
      products: [
        { ean: a, outcome: 'found', reason: null, product: { ean: a, specificationGroups: expect.any(Array) } },
        { ean: UNKNOWN, outcome: 'not_found', reason: expect.stringContaining('No offer'), product: null },
      ],
    });
  });

  it('cuts long texts to the width of a terminal, but no address', async () => {
    world.sandbox.change({ kind: 'product', ean: b, title: 'lang '.repeat(100) });
    const { out } = await lookup(['product', b], { terminal: { isTTY: true, columns: 60 } });
    const said = out.split('\n');
    expect(said[1]).toMatch(/^ {2}title {17}lang lang .*…$/);
    expect(said.filter((line) => line.length > 60).every((line) => line.includes(' https://'))).toBe(true);
    expect(out).toContain('/550x550.jpg\n');
  });

  it('lets no control character through to a terminal', async () => {
    const [osc, csi, turn] = ['\\u001b]0;owned\\u0007', '\\u009b31m', '\\u202e'];
    const json = `"Mok ${osc}${csi}${turn}\\nblauw"`;
    for (const options of [[], ['--json']]) {
      world.sandbox.addFault({ endpoint: 'product', kind: 'raw-value', field: 'title', json });
      const { code, out } = await lookup(['product', c, ...options]);
      expect(code).toBe(0);
      expect(out).toContain('Mok ');
      expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
    }
  });
});

test.each([[[]], [['--json']]])('a secret that the service echoes is not shown %j', async (options) => {
  const secret = world.sandbox.clientSecret;
  world.sandbox.addFault({ endpoint: 'product', kind: 'raw-value', field: 'title', json: `"echo of ${secret}"` });
  const { out } = await lookup(['product', a, ...options]);
  expect(out).toContain('echo of [redacted]');
  expect(out).not.toContain(secret);
});

describe('wrong usage ends with 2 before anything is asked', () => {
  test.each<[string[], string[]]>([
    [['product', '8712626055144'], ['"8712626055144" has the check digit 4, which should be 3']],
    [['product', '871262605514'], ['"871262605514" has 12 digits, not 13; 8712626055143 would be an EAN']],
    [['commission', '604020064587'], ['0604020064587 or 6040200645872 would be EANs']],
    [
      ['commission', '8712626055143', '12', 'x\u001b[31m'],
      ['2 of these are no EANs', '"12" has 2 digits, not 13', 'has other characters than digits'],
    ],
    [
      ['commission', '8712626055143', '--price', '12,95'],
      ['--price "12,95" is no price', '12.95'],
    ],
    [['commission', '8712626055143', '--price', '0'], ['--price "0" is no price']],
    [
      ['commission', '8712626055143', '--condition', 'mint'],
      ['--condition "mint"', 'NEW, AS_NEW, GOOD'],
    ],
    [['product', '8712626055143', '--country', 'NLD'], ['--country "NLD" is no country']],
    [['product', '8712626055143', '--language', 'dutch'], ['--language "dutch" is no language']],
    [['product'], ["missing required argument 'eans'"]],
    [['price', '8712626055143'], ["unknown command 'price'"]],
  ])('%j', async (words, parts) => {
    const { code, out, err, asked } = await lookup(words);
    expect({ code, out, asked }).toEqual({ code: 2, out: '', asked: {} });
    for (const part of parts) expect(err).toContain(part);
    expect(err.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  it('missing credentials are named', async () => {
    const { code, err, asked } = await lookup(['commission', a], { env: { PARTNER_CLIENT_SECRET: '' } });
    expect({ code, asked }).toEqual({ code: 2, asked: {} });
    expect(err).toContain('PARTNER_CLIENT_SECRET');
  });
});

describe('calls that fail', () => {
  it('refused credentials end with 4', async () => {
    const secret = 'not-the-secret-of-this-client';
    const { code, out, err } = await lookup(['product', a, b], { env: { PARTNER_CLIENT_SECRET: secret } });
    expect({ code, out }).toEqual({ code: 4, out: '' });
    expect(err).not.toContain(secret);
  });

  it('what fails for a while is tried again', async () => {
    world.sandbox.addFault({ endpoint: 'product', kind: 'status', status: 503 });
    world.sandbox.addFault({ endpoint: 'product', kind: 'html' });
    expect(await lookup(['product', a])).toMatchObject({ code: 0, asked: { product: 3 } });
  });

  it('one that fails for good ends with 1 and leaves the others', async () => {
    world.sandbox.addFault({ endpoint: 'product', ean: b, kind: 'shape', shape: 'array' });
    const { code, out, err } = await lookup(['product', a, b, c, '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      products: [
        { ean: a, outcome: 'found' },
        { ean: b, outcome: 'failed', reason: 'the answer is an array, not an object', product: null },
        { ean: c, outcome: 'found' },
      ],
    });
    expect(err).toMatch(/^partner-etl: products, request f\w+: the answer is an array, not an object$/m);
  });

  it('where all fail there is nothing to print', async () => {
    world.sandbox.addFault({ endpoint: 'commission', kind: 'shape', shape: 'null-items' });
    expect(await lookup(['commission', a, '--json'])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('the answer is null, not a commission'),
    });
  });

  it('after five failures in a row the rest is not asked', async () => {
    const eans = world.sandbox.eans(40);
    world.sandbox.addFault({ endpoint: 'product', kind: 'status', status: 410, after: 1, times: 100 });
    const { code, out, asked } = await lookup(['product', ...eans, '--json']);
    expect(code).toBe(1);
    expect(asked.product).toBeLessThan(12);
    const { products } = JSON.parse(out) as { products: { reason: string | null }[] };
    expect(products).toHaveLength(40);
    expect(products.at(-1)?.reason).toBe('given up, since other calls failed');
  });
});

describe('nothing is stored', () => {
  it('but the token and what counts the calls', async () => {
    await lookup(['commission', a, b]);
    await lookup(['product', a]);
    expect((await readdir(world.home)).sort()).toEqual(['settings.yaml', 'state.db', 'state.db-shm', 'state.db-wal']);
  });

  it('and it may be used while a run is at work', async () => {
    const lock = await fileLocks(path.join(world.home, 'locks'), world.clock).tryLock('run', 'run');
    const { code } = await lookup(['commission', a]);
    await lock?.release();
    expect(code).toBe(0);
  });
});

function truth(ean: string, price: string) {
  const said = world.sandbox.truthOfCommission(ean, 'NEW', price);
  if (said === undefined) throw new Error(`the sandbox does not know ${ean}`);
  return said;
}
