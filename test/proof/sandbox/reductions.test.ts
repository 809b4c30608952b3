import { describe, expect, test } from 'vitest';
import { type Client, exact, openSandbox, retailer } from './client.ts';

describe('the reductions file', () => {
  const csv = { accept: 'application/vnd.retailer.v3+csv' };
  const file = (client: Client, path = '/retailer/reductions') => client.call(path, { headers: csv });

  test('has the name that the call for its name tells, and a new one every day from five past midnight', async () => {
    const client = await openSandbox();
    const names = [];
    for (const time of ['2026-06-10T22:04:59Z', '2026-06-10T22:05:00Z']) {
      client.sandbox.setNow(Date.parse(time));
      const name = (await file(client, '/reductions/latest')).text;
      const whole = await file(client);
      expect(whole.headers['content-disposition']).toBe(`attachment; filename=${name}`);
      expect(whole.headers['content-type']).toBe(csv.accept);
      names.push(name);
    }
    expect(names).toEqual([
      'Verlaging_Bemiddelingsbijdrage_10062026_0005.csv',
      'Verlaging_Bemiddelingsbijdrage_11062026_0005.csv',
    ]);
  });

  test('has lines of five fields, some for EANs with leading zeros, and several for some EANs', async () => {
    const client = await openSandbox();
    const [header, ...lines] = (await file(client)).text.trimEnd().split('\n');
    expect(header).toBe('EAN,MaximumPrice,CostReduction,StartDate,EndDate');
    expect(lines.length).toBeGreaterThan(1000);
    const LINE = /^\d{13},\d+(\.\d{1,2})?,\d+(\.\d{1,2})?,2026-\d\d-\d\d,2026-\d\d-\d\d$/;
    expect(lines.filter((line) => !LINE.test(line))).toEqual([]);
    expect(lines.some((line) => line.startsWith('0'))).toBe(true);
    expect(new Set(lines.map((line) => line.slice(0, 13))).size).toBeLessThan(lines.length);
  });

  test('says the same as the commissions of its day', async () => {
    const client = await openSandbox();
    const today = '2026-06-10';
    const lines = (await file(client)).text
      .trimEnd()
      .split('\n')
      .map((line) => line.split(','));
    const active = lines.filter(([, , , from = '', to = '']) => from <= today && today <= to);
    for (const ean of [active[0]![0]!, active.at(-1)![0]!]) {
      const reply = await retailer(client, `/retailer/commission/${ean}`);
      const { reductions } = exact(reply.text) as { reductions: Record<string, string>[] };
      const said = reductions.map((r) => [ean, r.maximumPrice, r.costReduction, r.startDate, r.endDate]);
      expect(said).toEqual(active.filter((line) => line[0] === ean));
    }
  });

  test('can be as long as that of the service', async () => {
    const client = await openSandbox({ seriesLength: 20_000 });
    const long = (await file(client)).body.length;
    const short = (await file(await openSandbox({ seriesLength: 0 }))).body.length;
    expect(long - short).toBeGreaterThan(20_000 * 0.5 * 40);
  });

  test('is not there as JSON', async () => {
    const client = await openSandbox();
    expect((await retailer(client, '/retailer/reductions')).status).toBe(406);
  });
});
