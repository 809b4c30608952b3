import { describe, expect, test } from 'vitest';
import { refusalOf, refusalReason } from '../../src/sources/refusal.ts';

const A = '8712626055143';
const B = '8804269223123';
const C = '0604020064587';

function problem(rest: object): string {
  const instance = 'https://api.example.org/retailer/commission';
  return JSON.stringify({
    type: 'https://api.example.org/problems',
    host: 'Instance-101',
    instance,
    status: 400,
    ...rest,
  });
}

describe('a refusal', () => {
  test.each<[string, string, string[]]>([
    ['a violation', problem({ violations: [{ name: 'ean', reason: `invalid value(s): '${A}'.` }] }), [A]],
    ['several violations', problem({ violations: [{ name: B, reason: 'x' }, { reason: `${A}, ${C}` }] }), [B, A, C]],
    ['the detail', problem({ detail: `EAN ${B} is unknown` }), [B]],
    ['any other member', problem({ errors: [{ key: C }] }), [C]],
    ['HTML', `<html><body>Unknown: <b>${C}</b></body></html>`, [C]],
    ['text', `no such products: ${A}, ${B}`, [A, B]],
    ['a number that contains an EAN', problem({ detail: `1${A} and ${B}0 are wrong` }), []],
    ['an EAN that was not asked', problem({ detail: '8718526069334' }), []],
    ['the whole request repeated', problem({ detail: `bad request: [${A}, ${B}, ${C}]` }), []],
    [
      'a violation beside the whole request',
      problem({ detail: `${A} ${B} ${C}`, violations: [{ name: 'ean', reason: B }] }),
      [B],
    ],
    ['violations of another shape', problem({ violations: { ean: A } }), [A]],
    ['nothing', '', []],
  ])('that names EANs in %s', (_, body, named) => {
    expect(refusalOf(400, body, [A, B, C]).named).toEqual(named);
  });

  test('gives each named EAN the reason of its violation', () => {
    const violations = [
      { name: 'ean', reason: `'${A}' is odd` },
      { name: `queries.${B}`, reason: 'not sold' },
    ];
    const { reason, reasons } = refusalOf(400, problem({ title: 'Wrong', violations }), [A, B, C]);
    expect(reason).toBe(`Wrong; ean: '${A}' is odd; queries.${B}: not sold`);
    expect([...reasons!]).toEqual([
      [A, `'${A}' is odd`],
      [B, 'not sold'],
    ]);
  });

  test('of a single question names it also where the answer repeats it', () => {
    expect(refusalOf(404, problem({ detail: `no ${A}` }), [A]).named).toEqual([A]);
  });
});

describe('its reason', () => {
  test.each([
    [problem({ title: 'Not Found', detail: 'Not Found' }), 'Not Found'],
    [problem({ title: 'Not Found', detail: `No offer for ${A} in BE.` }), `Not Found; No offer for ${A} in BE.`],
    [problem({}), 'HTTP 404'],
    ['', 'HTTP 404'],
    ['<html><head><style>p {}</style></head><body><h1>404</h1>\n<p>Gone</p></body></html>', '404 Gone'],
    ['{"error":"not_found"}', 'not_found'],
    ['[1,2', '[1,2'],
  ])('%s says %s', (body, reason) => {
    expect(refusalReason(404, body)).toBe(reason);
  });

  test('is the same from call to call', () => {
    const said = (id: string, at: string, date: string) =>
      refusalReason(
        404,
        problem({ title: 'Gone', detail: `request ${id} at ${at} on ${date} failed`, instance: id, timestamp: at }),
      );
    const first = said(
      '3f2b8c1e-9d4a-4c77-8f10-0a1b2c3d4e5f',
      '2026-03-20T02:00:00.123Z',
      'Fri, 20 Mar 2026 02:00:00 GMT',
    );
    expect(first).toBe('Gone; request at on failed');
    expect(said('4bf92f3577b34da6a3ce929d0e0e4736', '2027-01-02 03:04:05+01:00', 'Sat, 2 Jan 2027 03:04:05 GMT')).toBe(
      first,
    );
  });

  test('has at most 300 characters and no control characters', () => {
    const reason = refusalReason(400, problem({ title: `a\u0000\u001b[31mb ${'x'.repeat(5000)}` }));
    expect(reason).toMatch(/^a\[31mb x+…$/);
    expect(reason).toHaveLength(301);
  });
});
