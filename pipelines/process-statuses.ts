import { LIMITS } from '../src/core/limits.ts';
import { column, declarePipeline, reading } from '../src/core/pipeline.ts';
import { following } from '../src/core/source.ts';

export const processStatuses = declarePipeline({
  name: 'process-statuses',
  version: 1,
  about:
    'What the service said last of asynchronous requests, which it forgets after 48 hours. mart.process shows what became of each.',
  answer: 'process status',
  source: following('processes', { callsPerNight: 1000 }),
  schedule: '*/10 * * * *',
  reading: reading({
    // `id` up to version 4 of the interface, `processStatusId` from version 5 on.
    match: {
      members: ['processStatusId', 'id'],
      to: 'id',
      form: 'id',
      unnamedWhen: { member: 'askedBy', value: 'start' },
    },
    needs: ['status'],
    outcomes: { 404: 'not_found', 410: 'not_found' },
    isTolerant: true,
    mostBytes: LIMITS.stateAnswerBytes,
  }),
  table: 'process_status',
  columns: [
    column(1, 'id', 'text', 'the process', {
      required: true,
      column: 'process_status_id',
      origin: 'request',
      from: '`processStatusId`, or `id`',
    }),
    column(2, 'observedOn', 'day', 'day on which it was first seen so', { required: true, origin: 'answer' }),
    column(3, 'observedFrom', 'utc-time', 'when it was first seen so', {
      column: 'valid_from',
      required: true,
      origin: 'answer',
    }),
    column(4, 'outcome', 'text', 'found, or not_found (404: the service has forgotten it)', {
      required: true,
      origin: 'answer',
    }),
    column(5, 'entityId', 'text', 'what the process is about; of a creation known only after its end'),
    column(6, 'eventType', 'text', 'what was asked for, such as CREATE_SUBSCRIPTION'),
    column(7, 'description', 'text', 'the same in words'),
    column(8, 'status', 'text', 'PENDING, or its end: SUCCESS, FAILURE, TIMEOUT', {
      known: ['PENDING', 'SUCCESS', 'FAILURE', 'TIMEOUT'],
    }),
    column(9, 'errorMessage', 'text', 'why it failed'),
    column(10, 'createTimestamp', 'utc-time', 'when it began'),
    column(11, 'links', 'json', 'as sent: [{rel, href, method}]', { json: 'any' }),
    column(
      12,
      'askedBy',
      'text',
      'start: the answer to a request of ours; status: asked for afterwards; message: asked for after a push message',
      { origin: 'request', known: ['start', 'status', 'message'], from: 'made by partner-etl' },
    ),
    column(13, 'reason', 'text', 'what the service said where it gave no process status', { origin: 'answer' }),
  ],
  key: ['process_status_id'],
  write: 'merge',
  merge: { ignore: ['asked_by', 'links'], presentWhen: "outcome = 'found'" },
});
