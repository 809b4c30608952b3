import { LIMITS } from '../src/core/limits.ts';
import { column, declarePipeline, reading } from '../src/core/pipeline.ts';
import { list } from '../src/core/source.ts';

export const subscriptions = declarePipeline({
  name: 'subscriptions',
  version: 1,
  about: 'Push subscriptions as they came, changed and went; the view subscription shows the state of each.',
  answer: 'list of subscriptions',
  source: list('retailer'),
  schedule: '35 5 * * *',
  reading: reading({
    records: 'subscriptions',
    match: { members: ['id'], to: 'id', form: 'id' },
    needs: ['id'],
    isTolerant: true,
    mostBytes: LIMITS.stateAnswerBytes,
  }),
  table: 'subscription_version',
  columns: [
    column(1, 'id', 'text', 'the subscription', {
      required: true,
      origin: 'request',
      from: 'field `id`, list of subscriptions',
    }),
    column(2, 'url', 'text', 'address that is pushed to'),
    column(3, 'resources', 'json', 'what it asks for, in alphabetical order: ["PROCESS_STATUS", "SHIPMENT"]', {
      json: 'texts',
    }),
    column(4, 'isPresent', 'boolean', 'true: it was listed; false: it no longer was', {
      required: true,
      origin: 'answer',
      from: 'made by partner-etl: whether the list has it',
    }),
    column(5, 'observedOn', 'day', 'day of the list that first showed this version', {
      required: true,
      origin: 'answer',
    }),
    column(6, 'observedFrom', 'utc-time', 'when that list was fetched', { required: true, origin: 'answer' }),
  ],
  derived: [],
  key: ['id', 'observed_from'],
  versions: { of: ['id'], within: null, aside: [], presentWhen: 'is_present', refusedWhen: null },
  day: 'observed_on',
  sort: ['id', 'observed_from'],
  settledWhen: 'true',
});
