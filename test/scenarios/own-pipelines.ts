/** Two pipelines that nothing of the program knows by name, each declared once, and a service that answers their calls. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { column, declarePipeline, reading } from '../../src/core/pipeline.ts';
import { type CallSection, type CallSettings, callBudget, callPath, mediaType } from '../../src/core/settings.ts';
import { eanKeys, lookupSettings, window } from '../../src/core/source.ts';

/** A report. */
export const returns = declarePipeline({
  name: 'returns',
  version: 1,
  about: 'What customers sent back, one row for each return.',
  answer: 'returns report',
  source: window({
    path: '/marketing/affiliate/reports/{version}/returns-report',
    budget: { calls: 3, perSeconds: 1, concurrency: 1 },
    lookbackDays: 4,
    windowDays: 3,
  }),
  schedule: '15 6 * * *',
  table: 'fact_return',
  columns: [
    column(1, 'returnDate', 'day', 'day on which it came back', { required: true }),
    column(2, 'returnId', 'text', 'the return', { required: true }),
    column(3, 'reason', 'text', 'why, in the words of the customer'),
    column(4, 'pieces', 'count', 'pieces'),
    column(5, 'refund', 'money', 'what was paid back'),
  ],
  key: ['return_id'],
  write: 'replace',
  day: 'return_date',
});

interface StockCall extends CallSettings {
  readonly path: string;
  readonly accept: string;
}

const stockCall: CallSection<StockCall> = {
  name: 'stock',
  shape: { path: callPath('ean'), accept: mediaType(), budget: callBudget() },
  usual: {
    path: '/marketing/catalog/{version}/stock/{ean}',
    accept: 'application/json',
    budget: { calls: 20, perSeconds: 1, concurrency: 2 },
  },
};

/** A look-up. */
export const stockLevels = declarePipeline({
  name: 'stock-levels',
  version: 1,
  about: 'How many pieces the platform has of an EAN.',
  answer: 'stock by EAN',
  source: eanKeys({
    area: 'catalog',
    call: stockCall,
    settings: lookupSettings({ callsPerNight: 50, freshHours: 20 }, { shape: {}, usual: {} }),
    request: ([key], { path, accept }) => ({ path, ean: String(key?.ean), headers: { accept } }),
    alsoAnswers: [404],
  }),
  schedule: '20 6 * * *',
  reading: reading({ match: { members: ['ean'], to: 'ean', form: 'ean' }, outcomes: { 404: 'not_found' } }),
  table: 'fact_stock_level',
  columns: [
    column(1, 'ean', 'text', 'the product', { required: true, origin: 'request' }),
    column(2, 'observedOn', 'day', 'day of the look-up that first showed it so', {
      required: true,
      origin: 'answer',
    }),
    column(3, 'observedFrom', 'utc-time', 'when it was first seen so', {
      column: 'valid_from',
      required: true,
      origin: 'answer',
    }),
    column(4, 'outcome', 'text', 'found, or not_found', { required: true, origin: 'answer' }),
    column(5, 'warehouse.pieces', 'count', 'pieces in stock'),
    column(6, 'unitCost', 'money', 'what a piece costs to keep'),
    column(7, 'reason', 'text', 'what the service said where it gave no stock', { origin: 'answer' }),
  ],
  key: ['ean'],
  write: 'merge',
  merge: { presentWhen: "outcome = 'found'" },
});

export interface OwnService {
  readonly url: string;
  /** Paths with their queries, in the order in which they were asked. */
  readonly asked: string[];
  /** Rows of the report by day, as JSON. */
  readonly returns: Map<string, string[]>;
  /** Records by EAN, as JSON. */
  readonly stock: Map<string, string>;
  close(): Promise<void>;
}

/** Answers the two calls, and gives tokens. */
export async function startOwnService(): Promise<OwnService> {
  const asked: string[] = [];
  const returned = new Map<string, string[]>();
  const stock = new Map<string, string>();
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://own');
    const answer = (status: number, json: string) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(json);
    if (pathname === '/token')
      return answer(200, '{"access_token":"own-token-1","token_type":"Bearer","expires_in":299}');
    asked.push(request.url ?? '');
    if (pathname === '/marketing/affiliate/reports/v2/returns-report') {
      const days = [...returned].filter(
        ([day]) => day >= searchParams.get('startDate')! && day <= searchParams.get('endDate')!,
      );
      return answer(200, `{"items":[${days.flatMap(([, rows]) => rows).join(',')}]}`);
    }
    const ean = /^\/marketing\/catalog\/v1\/stock\/(\d+)$/.exec(pathname)?.[1];
    const record = ean === undefined ? undefined : stock.get(ean);
    return record === undefined ? answer(404, '{"title":"Not Found"}') : answer(200, record);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    returns: returned,
    stock,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
