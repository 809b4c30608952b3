import { beforeAll, expect, test } from 'vitest';
import { type CommissionCall, commissionRates } from '../../pipelines/commission-rates.ts';
import { pipelines } from '../../pipelines/index.ts';
import { loadConfig } from '../../src/config.ts';
import type { WindowCall } from '../../src/core/source.ts';
import { endpointOf } from '../../src/partner/calls/endpoints.ts';
import { callOf, type PartnerSettings } from '../../src/partner/settings.ts';
import { packageRoot } from '../support/nights.ts';

let settings: PartnerSettings;
beforeAll(async () => {
  const env = {
    PARTNER_BASE_URL: 'https://api.example.com/base/',
    PARTNER_AUTH_URL: 'https://login.example.com',
    PARTNER_CLIENT_ID: 'id',
    PARTNER_CLIENT_SECRET: 'secret',
  };
  settings = (await loadConfig({ env, cwd: packageRoot, packageRoot })).partners.reports!;
});

/** The path with its variable parts filled. */
const filled = (path: string) => path.split('?')[0]!.replaceAll(/\{\w+\}/g, 'x1');

test.each<[string, (s: PartnerSettings) => string]>([
  ['report-orders', ({ calls }) => callOf<WindowCall>(calls, { name: 'orders' }).path],
  ['report-promotions', ({ calls }) => callOf<WindowCall>(calls, { name: 'promotions' }).path],
  ['report-commissions', ({ calls }) => callOf<WindowCall>(calls, { name: 'commissions' }).path],
  ['product', () => '/marketing/catalog/v1/products/{ean}'],
  ['commission', ({ calls }) => callOf<CommissionCall>(calls, commissionRates).single.path],
  ['commission', ({ calls }) => callOf<CommissionCall>(calls, commissionRates).bulk.path],
  ['reductions', (s) => s.retailer.reductions.path],
  ['reductions-name', (s) => s.retailer.reductionsName.path],
  ['subscriptions', (s) => s.retailer.subscriptions.path],
  ['subscriptions', (s) => s.retailer.subscriptions.itemPath],
  ['signature-keys', (s) => s.retailer.signatureKeys.path],
  ['test-push', (s) => s.retailer.testPush.path],
  ['process-status', (s) => s.retailer.processStatus.path],
  ['process-status', () => '/retailer/shipments/4711'],
])('a request to %s is known by its path', (endpoint, pathOf) => {
  const found = endpointOf(
    `https://api.example.com/base${filled(pathOf(settings))}?day=2026-03-01`,
    settings,
    pipelines,
  );
  expect(found.endpoint).toBe(endpoint);
  expect(found.budget.calls).toBeGreaterThan(0);
});
