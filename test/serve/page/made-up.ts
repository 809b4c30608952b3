/** Models of the status page that no night has to be waited for. */
import type { Day } from '../../../src/core/days.ts';
import type { Explanation } from '../../../src/run/status/explain.ts';
import {
  CELL_LETTERS,
  type CellState,
  type PageModel,
  type PipelineRow,
  type RunRow,
} from '../../../src/serve/page/model.ts';
import type { SessionShown } from '../../../src/serve/page/session-shown.ts';

export const TODAY = '2026-11-21' as Day;
const NEWEST = '2026-11-20' as Day;

export const READER: SessionShown = { isSignedIn: false, hasToken: true, csrf: null, notice: null, waiting: null };
export const SIGNED_IN: SessionShown = { isSignedIn: true, hasToken: true, csrf: 'c5f', notice: null, waiting: null };

/** `cells` end on the newest day. */
export function pipelineRow(pipeline: string, cells: string, more: Partial<PipelineRow> = {}): PipelineRow {
  const from = new Date(Date.parse(NEWEST) - (cells.length - 1) * 86_400_000).toISOString().slice(0, 10) as Day;
  const counts = Object.fromEntries(
    Object.entries(CELL_LETTERS).map(([state, letter]) => [state, cells.split(letter).length - 1]),
  ) as Record<CellState, number>;
  return {
    pipeline,
    enabled: true,
    from,
    cells,
    counts,
    newest: NEWEST,
    days_behind: 0,
    rows: 10,
    rejects: 0,
    ...more,
  };
}

/** Nothing was ever run. */
export const EMPTY: PageModel = {
  made_at: '2026-11-21T09:12:33.120Z',
  today: TODAY,
  health: { live: true, ready: true, locked: true, receiving: null, standing_by: false, schedule: null },
  pipelines: [pipelineRow('orders', '', { from: TODAY, newest: null, days_behind: null, rows: 0 })],
  targets: [],
  tokens: [],
  runs: [],
  pushes: [],
  inbox: null,
  holds: [],
  rejects: [],
  drift: [],
  money: [],
  reconciliation: null,
  reconciliation_error: null,
};

export const WELL: PageModel = {
  ...EMPTY,
  pipelines: [pipelineRow('promotions', 'sso'), pipelineRow('orders', 'sso')],
};

export function runRow(more: Partial<RunRow> = {}): RunRow {
  return {
    run_id: 'r1',
    command: 'run',
    pipelines: [],
    started_at: '2026-11-21T04:30:00.000Z',
    ended_at: '2026-11-21T04:33:20.000Z',
    result: 'done',
    exit_code: 0,
    summary: null,
    duration_ms: 200_000,
    is_at_work: false,
    calls: [],
    ...more,
  };
}

export const HOLD: PageModel['holds'][number] = {
  pipeline: 'orders',
  slice_day: '2026-11-12' as Day,
  reason: 'shrunk',
  detail: '412 rows where 1,204 were before',
  digest: 'ab',
  rows: 412,
  rows_before: 1204,
  fetch_id: 'f1',
  held_at: '2026-11-13T04:31:10.000Z',
};

export const REJECT: PageModel['rejects'][number] = {
  pipeline: 'orders',
  slice_day: '2026-11-12' as Day,
  reason: 'bad_number',
  detail: 'price: "12,50"',
  count: 14,
};

/** A day of which nothing is known. */
export const EXPLANATION: Explanation = {
  pipeline: 'orders',
  day: '2026-11-12' as Day,
  content: null,
  moved: false,
  held: null,
  held_by_check: null,
  fetches: [],
  fetch_count: 0,
  rejects: [],
  drift: [],
  targets: [],
};

/** With something in every section. */
export const FULL: PageModel = {
  ...WELL,
  holds: [HOLD],
  rejects: [REJECT],
  targets: [
    { target: 'duckdb', slices_behind: 2, error: null },
    { target: 'postgres', slices_behind: null, error: 'refused' },
  ],
  tokens: [
    {
      credentials: 'default',
      valid_until: '2026-11-21T09:40:10.000Z',
      requests_last_hour: 7,
      most_per_hour: 30,
      blocked_until: '2026-11-21T10:00:00.000Z',
    },
  ],
  runs: [
    runRow({
      result: 'failed',
      summary: {
        windows: 1,
        calls: 3,
        rows: 5,
        slices_changed: 1,
        slices_unchanged: 0,
        slices_held: 0,
        rejects: 0,
        duplicates: 0,
        left_out: 0,
        errors: ['it broke'],
      },
      calls: [
        { endpoint: 'orders', calls: 3, failed: 1, busiest: 2, budget_calls: 10, budget_seconds: 60 },
        { endpoint: 'token', calls: 1, failed: 0, busiest: null, budget_calls: null, budget_seconds: null },
      ],
    }),
  ],
  pushes: [{ day: '2026-11-20' as Day, received: 4, refused: 1 }],
  inbox: { messages: 1, bytes: 2048 },
  drift: [
    {
      pipeline: 'orders',
      kind: 'unknown_field',
      field: 'voucher',
      count: 2,
      example: '"x"',
      first_seen_at: '2026-11-06T04:30:00.000Z',
    },
  ],
  money: [
    {
      day: '2026-11-20' as Day,
      revenue: '1000.500000',
      commission: '60.030000',
      commission_approved: '10.000000',
      commission_open: '50.030000',
    },
  ],
  reconciliation: [
    {
      day: '2026-11-20' as Day,
      class: 'unexplained',
      groups: 2,
      commission_difference: '0.010000',
      revenue_difference: '12.000000',
    },
  ],
};

/** A day with everything that can be said of one. */
export const FULL_EXPLANATION: Explanation = {
  ...EXPLANATION,
  content: {
    day: EXPLANATION.day,
    digest: 'abc',
    rows: 5,
    rejects: 1,
    duplicates: 0,
    sums: { commission: '1.20' },
    settled: false,
    version: 1,
    fetch_id: 'f1',
    fetched_at: '2026-11-13T04:31:10.000Z',
    key_min: null,
    key_max: null,
  },
  held_by_check: HOLD,
  fetches: [
    {
      fetch_id: 'f1',
      run_id: 'r1',
      pipeline: 'orders',
      window_from: EXPLANATION.day,
      window_to: EXPLANATION.day,
      method: 'GET',
      url: '/',
      attempt: 1,
      started_at: HOLD.held_at,
      finished_at: HOLD.held_at,
      status: 503,
      content_type: null,
      bytes_received: 0,
      bytes_decoded: 0,
      sha256: null,
      raw_path: null,
      items: null,
      outcome: 'failed',
      error_code: 'x',
      error_message: 'it broke',
    },
  ],
  fetch_count: 3,
  rejects: [
    {
      pipeline: 'orders',
      slice_day: EXPLANATION.day,
      fetch_id: 'f1',
      item: 17,
      reason: 'bad_number',
      detail: 'price',
      raw: '{"price":"12,50"}',
    },
  ],
  drift: [{ pipeline: 'orders', fetch_id: 'f1', kind: 'unknown_field', field: 'voucher', count: 1, example: '"x"' }],
  targets: [
    {
      target: 'duckdb',
      error: null,
      receipts: {
        columns: ['digest', 'rows', 'settled', 'sums', 'superseded_at'],
        rows: [['abc', '5', false, '{"commission":"1.20"}', null]],
        truncated: false,
      },
    },
    { target: 'postgres', error: 'refused', receipts: null },
  ],
};
