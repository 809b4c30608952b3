import { LIMITS } from '../src/core/limits.ts';
import { column, declarePipeline, reading } from '../src/core/pipeline.ts';
import { list } from '../src/core/source.ts';

export const subscriptions = declarePipeline({
  name: 'subscriptions',
  version: 1,
  about: 'The push subscriptions that there are; those that are gone are in the history.',
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
  table: 'subscription',
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
    column(4, 'observedOn', 'day', 'day of the list that first showed it so', { required: true, origin: 'answer' }),
    column(5, 'observedFrom', 'utc-time', 'when that list was fetched', {
      column: 'valid_from',
      required: true,
      origin: 'answer',
    }),
  ],
  key: ['id'],
  write: 'merge',
});
