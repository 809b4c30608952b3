import { column, declarePipeline } from '../src/core/pipeline.ts';

export const processStatuses = declarePipeline({
  name: 'process-statuses',
  version: 1,
  about:
    'What became of asynchronous requests, as versions; the service forgets them after 48 hours. The view process_status shows the state of each.',
  source: { kind: 'lookup', lookup: 'process-status' },
  table: 'process_status_version',
  columns: [
    column(1, 'processStatusId', 'text', 'the process', { required: true }),
    column(2, 'observedOn', 'day', 'day on which this version was first seen', { required: true }),
    column(3, 'observedFrom', 'utc-time', 'when this version was first seen', { required: true }),
    column(4, 'outcome', 'text', 'found, or not_found (404: the service has forgotten it)', { required: true }),
    column(5, 'entityId', 'text', 'what the process is about; of a creation known only after its end'),
    column(6, 'eventType', 'text', 'what was asked for, such as CREATE_SUBSCRIPTION'),
    column(7, 'description', 'text', 'the same in words'),
    column(8, 'status', 'text', 'PENDING, or its end: SUCCESS, FAILURE, TIMEOUT'),
    column(9, 'errorMessage', 'text', 'why it failed'),
    column(10, 'createTimestamp', 'utc-time', 'when it began'),
    column(11, 'links', 'json', 'as sent: [{rel, href, method}]'),
    column(
      12,
      'askedBy',
      'text',
      'start: the answer to a request of ours; status: asked for afterwards; message: asked for after a push message',
    ),
    column(13, 'reason', 'text', 'what the service said where it told no process status'),
  ],
  derived: [],
  key: ['process_status_id', 'observed_from'],
  versions: {
    of: ['process_status_id'],
    within: null,
    aside: ['asked_by', 'links'],
    presentWhen: "outcome = 'found'",
    refusedWhen: null,
  },
  day: 'observed_on',
  sort: ['process_status_id', 'observed_from'],
  settledWhen: 'true',
});
