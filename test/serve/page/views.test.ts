/** The page as text: what it says of every state, and that nothing that came from elsewhere breaks out of it. */
import { describe, expect, it } from 'vitest';
import type { Day } from '../../../src/core/days.ts';
import type { Explanation } from '../../../src/run/status/explain.ts';
import { CELL_LETTERS, type PageModel } from '../../../src/serve/page/model.ts';
import { amountText, durationText, exactSum, sumText } from '../../../src/serve/page/views/figures.ts';
import { cellHtml, loginHtml, pageHtml, problemHtml } from '../../../src/serve/page/views/index.ts';
import { summaryOf } from '../../../src/serve/page/views/summary.ts';
import {
  EMPTY,
  EXPLANATION,
  FULL,
  FULL_EXPLANATION,
  HOLD,
  pipelineRow,
  READER,
  REJECT,
  runRow,
  SIGNED_IN,
  WELL,
} from './made-up.ts';

/** Tags of a page, each as it stands there. */
const tagsOf = (html: string) => [...html.matchAll(/<([a-z][a-z0-9]*)(?:"[^"]*"|[^">])*>/gi)];
const attributesOf = (html: string, name: string) =>
  tagsOf(html).flatMap(([tag]) =>
    [...tag.matchAll(/\s([a-z-]+)="([^"]*)"/g)].flatMap((m) => (m[1] === name ? [m[2]!] : [])),
  );
/** What a reader sees, without tags. */
const wordsOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&quot;', '"');

describe('figures', () => {
  it.each([
    ['0', '0.00'],
    ['-1234.5', '-1,234.50'],
    ['12.340000', '12.34'],
    ['0.000001', '0.000001'],
    ['12345678901234567.891234', '12,345,678,901,234,567.891234'],
    ['9007199254740993', '9,007,199,254,740,993.00'],
    ['no number', 'no number'],
  ])('the amount %s reads %s', (text, shown) => {
    expect(amountText(text)).toBe(shown);
  });

  it('a sum of counts has no decimals, a sum of money has', () => {
    expect([sumText('1204'), sumText('1204.000000'), sumText('9007199254740993')]).toEqual([
      '1,204',
      '1,204.00',
      '9,007,199,254,740,993',
    ]);
  });

  it.each([
    [['0.1', '0.2'], '0.30'],
    [['9007199254740993.000001', '-0.000001'], '9,007,199,254,740,993.00'],
    [['-5', '2.5'], '-2.50'],
    [[], '0.00'],
  ])('%j add up to %s', (texts, sum) => {
    expect(amountText(exactSum(texts))).toBe(sum);
  });

  it.each([
    [850, '850 ms'],
    [12_000, '12 s'],
    [200_000, '3 min 20 s'],
    [60_000, '1 min'],
    [7_500_000, '2 h 5 min'],
    [7_200_000, '2 h'],
  ])('%i ms read %s', (ms, words) => {
    expect(durationText(ms)).toBe(words);
  });
});

const HOSTILE = `<img src=x onerror=alert(1)>"'&</script></title><script>alert(2)</script>\u0000`;

/** Every text that is not fixed by a type of ours, replaced by a hostile one. */
function hostile<T>(value: T, kept: readonly string[] = []): T {
  if (typeof value === 'string') return HOSTILE as T;
  if (Array.isArray(value)) return value.map((one) => hostile(one, kept)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, kept.includes(name) ? part : hostile(part, kept)]),
  ) as T;
}

/** Days and what counts by them, which the model's own checks make sure of. */
const CHECKED = ['from', 'cells', 'newest', 'today', 'day', 'slice_day'];

describe('whatever comes from elsewhere is text', () => {
  const pages: readonly (readonly [string, string])[] = [
    ['the status', pageHtml(hostile(FULL, CHECKED), READER)],
    ['the status of who is signed in', pageHtml(hostile(FULL, CHECKED), hostile(SIGNED_IN))],
    ['a day', cellHtml(hostile(FULL_EXPLANATION, CHECKED), READER)],
    ['signing in', loginHtml({ problem: HOSTILE })],
    ['a problem', problemHtml({ title: HOSTILE, hint: HOSTILE })],
  ];

  it.each(pages)('on the page of %s', (_, html) => {
    expect(wordsOf(html)).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(html).not.toMatch(/<img|alert\(1\)>|\u0000/);
    expect(tagsOf(html).filter(([tag]) => /\son[a-z]+=|\sstyle=/i.test(tag.replaceAll(/"[^"]*"/g, '""')))).toEqual([]);
    for (const place of [...attributesOf(html, 'href'), ...attributesOf(html, 'src'), ...attributesOf(html, 'action')])
      expect(place).toMatch(/^[/#](?!\/)/);
  });

  it.each([
    ['the status', pageHtml(FULL, SIGNED_IN)],
    ['a day', cellHtml(FULL_EXPLANATION, SIGNED_IN)],
    ['signing in', loginHtml({ problem: 'no' })],
  ])('%s has no script and no style of its own, no name twice, and names only what is there', (_, html) => {
    expect(html).not.toMatch(/<style|<script(?![^>]*\ssrc=)|javascript:/);
    const ids = attributesOf(html, 'id');
    expect(new Set(ids).size).toBe(ids.length);
    const named = ['aria-labelledby', 'aria-describedby', 'for'].flatMap((name) => attributesOf(html, name));
    const anchors = attributesOf(html, 'href').flatMap((href) => (href.startsWith('#') ? [href.slice(1)] : []));
    expect([...named, ...anchors].filter((id) => !ids.includes(id))).toEqual([]);
  });
});

describe('the calendar', () => {
  it('has a name and a sign of its own for every state, and nothing where nobody asks', () => {
    const html = pageHtml(
      { ...EMPTY, pipelines: [pipelineRow('orders', `${Object.values(CELL_LETTERS).join('')}-o`)] },
      READER,
    );
    const days = ['12', '13', '14', '15', '16', '17', '18'];
    const cells = [
      ...html.matchAll(/<td><a class="cell ([a-z])" href="([^"]+)" aria-label="([^"]+)">([^<]*)<\/a><\/td>/g),
    ];
    const signs = cells.slice(0, 7).map(([, , , sign]) => sign);
    expect(cells.slice(0, 7).map(([, letter, , name]) => `${letter} ${name}`)).toEqual(
      Object.entries(CELL_LETTERS).map(([state, letter], i) => `${letter} orders 2026-11-${days[i]} ${state}`),
    );
    expect(new Set(signs).size).toBe(7);
    expect(cells.map(([, , path]) => path)).not.toContain('/cell/orders/2026-11-19');
    for (const [state, letter] of Object.entries(CELL_LETTERS))
      expect(html).toContain(`data-letter="${letter}" data-word="${state}"`);
  });

  it('of ten years shows twelve months, or the year that is asked for, and leads to every other', () => {
    const tenYears = 's'.repeat(3653);
    const model = { ...WELL, pipelines: Array.from({ length: 12 }, (_, i) => pipelineRow(`pipeline-${i}`, tenYears)) };
    const months = (html: string) => attributesOf(html, 'data-month');
    const newest = pageHtml(model, READER);
    expect(months(newest)).toHaveLength(12);
    expect([months(newest)[0], months(newest).at(-1)]).toEqual(['2026-11', '2025-12']);
    expect(attributesOf(newest, 'href').filter((href) => href.startsWith('/?year='))).toHaveLength(11);
    const asked = pageHtml(model, READER, 2019);
    expect([months(asked).length, months(asked)[0], months(asked).at(-1)]).toEqual([12, '2019-12', '2019-01']);
    expect(asked.split('<td><a').length - 1).toBe(12 * 365);
    expect(asked).toContain('aria-current="true">2019</a>');
    expect(wordsOf(pageHtml(model, READER, 1999))).toContain('Nothing is known of 1999.');
  });

  it('begins a pipeline on its first day and ends the newest month on its last', () => {
    const html = pageHtml(
      { ...WELL, pipelines: [pipelineRow('orders', 's'.repeat(60)), pipelineRow('late', 'oo')] },
      READER,
    );
    expect(attributesOf(html, 'aria-label').filter((name) => name.startsWith('late '))).toEqual([
      'late 2026-11-19 open',
      'late 2026-11-20 open',
    ]);
    const heads = html.split('data-month="2026-11"')[1]?.split('</thead>')[0] ?? '';
    expect([...heads.matchAll(/<th scope="col">(\d+)<\/th>/g)].at(-1)?.[1]).toBe('20');
    expect(attributesOf(html, 'data-month')).toEqual(['2026-11', '2026-10', '2026-09']);
  });
});

describe('the first sentence', () => {
  const well = { sentence: 'All is well: newest orders 2026-11-20', needs: [] as string[] };
  const one = (words: string) => ({ sentence: '1 thing needs you', needs: [words] });
  const changed = (row: Parameters<typeof pipelineRow>[2], cells = 'sso') => ({
    pipelines: [pipelineRow('orders', cells, row)],
  });
  it.each<[string, Partial<PageModel>, { sentence: string; needs: string[] }]>([
    ['nothing is wrong', {}, well],
    ['nothing was ever loaded', EMPTY, one('nothing is loaded yet: partner-etl run loads the first nights')],
    ['a slice is held', { holds: [HOLD] }, one('1 slice is held back')],
    ['rows were rejected', { rejects: [REJECT] }, one('14 rows were rejected')],
    ['a day failed', changed({}, 'sfs'), one('1 day could not be fetched')],
    ['a day is missing', changed({}, 'sms'), one('1 day is missing')],
    [
      'the night has not been yet',
      changed({ newest: '2026-11-19' as Day, days_behind: 1 }, 'ssm'),
      { ...well, sentence: 'All is well: newest orders 2026-11-19' },
    ],
    [
      'a pipeline is behind',
      changed({ newest: '2026-11-18' as Day, days_behind: 2 }, 'smm'),
      one('orders is 2 days behind'),
    ],
    [
      'a pipeline that is switched off is behind',
      { pipelines: [...WELL.pipelines, pipelineRow('late', 'mmm', { enabled: false, days_behind: 9 })] },
      well,
    ],
    [
      'a warehouse cannot be asked',
      { targets: [{ target: 'postgres', slices_behind: null, error: 'x' }] },
      one('postgres could not be asked'),
    ],
    [
      'a warehouse lacks slices',
      { targets: [{ target: 'duckdb', slices_behind: 3, error: null }] },
      one('duckdb lacks 3 slices'),
    ],
    [
      'the credentials were refused',
      { tokens: FULL.tokens },
      one('the credentials default were refused; nobody asks again before 2026-11-21 10:00'),
    ],
    [
      'the last run failed',
      { runs: [runRow({ result: null }), runRow({ result: 'failed' })] },
      one('the last run failed'),
    ],
    [
      'a run at work will bring what is missing and what a warehouse lacks',
      {
        runs: [runRow({ result: null, is_at_work: true })],
        pipelines: [pipelineRow('orders', 'sms')],
        targets: [{ target: 'duckdb', slices_behind: 3, error: null }],
      },
      well,
    ],
    ['an older run failed', { runs: [runRow(), runRow({ result: 'failed' })] }, well],
    ['locks are lost', { health: { ...EMPTY.health, locked: false } }, one('serve does not hold its locks')],
    ['nobody receives', { health: { ...EMPTY.health, receiving: false } }, one('push messages are not received')],
    [
      'a run was missed',
      {
        health: {
          ...EMPTY.health,
          schedule: { next_due_at: null, missed_since: '2026-11-20T04:30:00.000Z', running: null },
        },
      },
      one('no run was begun that was due at 2026-11-20 04:30'),
    ],
  ])('when %s', (_, more, { sentence, needs }) => {
    const summary = summaryOf({ ...WELL, ...more });
    expect({ sentence: summary.sentence, needs: summary.needs.map(({ words }) => words) }).toEqual({ sentence, needs });
  });

  it('drift and differences that nobody can explain are worth a look, and need nobody', () => {
    const { sentence, looks } = summaryOf({ ...WELL, drift: FULL.drift, reconciliation: FULL.reconciliation });
    expect(sentence).toBe(well.sentence);
    expect(looks.map(({ words }) => words)).toEqual([
      '1 kind of drift',
      '2 groups of the reports differ without an explanation',
    ]);
  });
});

describe('sections', () => {
  it('of an empty installation each say that there is nothing', () => {
    const words = wordsOf(pageHtml(EMPTY, READER));
    for (const said of [
      'Nothing is known of any day.',
      'Nothing is held back.',
      'No row is rejected.',
      'No commissions are loaded yet.',
      'No warehouse could be asked: it is not there yet',
      'never loaded',
      'No run yet: partner-etl run',
      'No credentials are set.',
      'Nothing was pushed lately.',
      'No warehouse is set.',
      'The last runs saw nothing new.',
    ])
      expect(words).toContain(said);
  });

  it('of a full one tell exact figures', () => {
    const words = wordsOf(pageHtml(FULL, READER));
    for (const said of [
      '7 of 30 token requests in the last hour: 23 left before a ban comes near',
      '2026-11-20 1,000.50 60.03 10.00 50.03',
      'unexplained 1 2 0.01 12.00',
      'orders 2 of 10 in 1 min',
      '3 min 20 s',
      '4 messages received and 1 refused in 1 day.',
      'lacks 2 slices of the lake',
      'it broke',
    ])
      expect(words).toContain(said);
  });

  it.each([
    ['nobody is signed in', READER, true],
    ['no token is set', { ...READER, hasToken: false }, true],
    ['somebody is signed in', SIGNED_IN, false],
  ])('what to do is a command or a button: %s', (_, session, isTyped) => {
    const pages = [
      pageHtml({ ...WELL, holds: [HOLD], rejects: [REJECT] }, session),
      cellHtml(FULL_EXPLANATION, session),
    ];
    for (const html of pages) {
      expect(html.includes('<code>partner-etl release orders 2026-11-12</code>')).toBe(isTyped);
      expect(html.includes('<code>partner-etl rejects orders --retry</code>')).toBe(isTyped);
      expect(html.includes('<form method="post" action="/release"><input type="hidden" name="csrf" value="c5f">')).toBe(
        !isTyped,
      );
      expect(html.includes('href="/login"')).toBe(isTyped && session.hasToken);
      expect(wordsOf(html).includes('PARTNER_ETL_PAGE_TOKEN')).toBe(!session.hasToken);
    }
  });

  it('a notice is said once, before everything else', () => {
    const html = pageHtml(WELL, { ...SIGNED_IN, notice: 'orders 2026-11-12 is released' });
    expect(html).toMatch(/role="status">orders 2026-11-12 is released<\/p>[\s\S]*<h1>/);
  });
});

describe('a day', () => {
  it.each<[string, Partial<Explanation>, string]>([
    ['was never loaded', {}, 'orders 2026-11-12 never loaded'],
    ['is open', { content: FULL_EXPLANATION.content }, 'orders 2026-11-12 open'],
    ['is held', { held_by_check: HOLD }, 'orders 2026-11-12 held back'],
    ['was asked for by nobody', {}, 'Nobody has asked for this day.'],
    ['moved', { moved: true }, 'An item of this day turned up on another day'],
    [
      'has lost its answer',
      { fetches: [{ ...FULL_EXPLANATION.fetches[0]!, pruned_at: '2026-11-20T01:00:00.000Z' }] },
      'answer pruned on 2026-11-20, by retention',
    ],
    ['has more fetches than are shown', FULL_EXPLANATION, 'The newest 1 of 3.'],
    ['has rejects', FULL_EXPLANATION, '17 bad number price {"price":"12,50"}'],
    ['is in a warehouse', FULL_EXPLANATION, 'oldest first digest rows settled sums superseded at abc 5 no sums'],
  ])('that %s says so', (_, more, said) => {
    expect(wordsOf(cellHtml({ ...EXPLANATION, ...more }, READER))).toContain(said);
  });

  it('leads to its neighbours', () => {
    const places = attributesOf(cellHtml(EXPLANATION, READER), 'href');
    expect(places).toEqual(expect.arrayContaining(['/cell/orders/2026-11-11', '/cell/orders/2026-11-13']));
  });
});
