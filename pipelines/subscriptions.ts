import { column, declarePipeline } from '../src/core/pipeline.ts';

export const subscriptions = declarePipeline({
  name: 'subscriptions',
  version: 1,
  about: 'Push subscriptions as they came, changed and went; the view subscription shows the state of each.',
  source: { kind: 'list' },
  table: 'subscription_version',
  columns: [
    column(1, 'id', 'text', 'the subscription', { required: true }),
    column(2, 'url', 'text', 'address that is pushed to'),
    column(3, 'resources', 'json', 'what it asks for, in alphabetical order: ["PROCESS_STATUS", "SHIPMENT"]'),
    column(4, 'isPresent', 'boolean', 'true: it was listed; false: it no longer was', { required: true }),
    column(5, 'observedOn', 'day', 'day of the list that first showed this version', { required: true }),
    column(6, 'observedFrom', 'utc-time', 'when that list was fetched', { required: true }),
  ],
  derived: [],
  key: ['id', 'observed_from'],
  versions: { of: ['id'], within: null, aside: [], presentWhen: 'is_present', refusedWhen: null },
  day: 'observed_on',
  sort: ['id', 'observed_from'],
  settledWhen: 'true',
});
