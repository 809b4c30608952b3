import { LIMITS } from '../src/core/limits.ts';
import { column, declarePipeline, reading } from '../src/core/pipeline.ts';
import { following } from '../src/core/source.ts';

export const pushLinks = declarePipeline({
  name: 'push-links',
  version: 1,
  about:
    'What lies behind the links of push messages, when they were followed last. Process statuses have a table of their own.',
  answer: 'what the link of a push message leads to',
  source: following('links', { callsPerNight: 1000 }),
  schedule: '*/10 * * * *',
  reading: reading({
    outcomes: { 404: 'not_found', 410: 'not_found', '*': 'refused' },
    mayBeAnything: true,
    mostBytes: LIMITS.linkAnswerBytes,
  }),
  table: 'push_link',
  columns: [
    column(1, 'href', 'text', 'the address, as the message has it', {
      required: true,
      origin: 'request',
      from: '`event.links[].href` of the message',
    }),
    column(2, 'observedOn', 'day', 'day on which it was first seen so', { required: true, origin: 'answer' }),
    column(3, 'observedFrom', 'utc-time', 'when it was first seen so', {
      column: 'valid_from',
      required: true,
      origin: 'answer',
    }),
    column(4, 'resource', 'text', 'what the message was about', {
      required: true,
      origin: 'request',
      from: '`event.resource` of the message',
    }),
    column(5, 'resourceId', 'text', 'the resource concerned', {
      required: true,
      origin: 'request',
      from: '`event.resourceId` of the message',
    }),
    column(6, 'outcome', 'text', 'found, not_found (404, 410) or refused (any other client error)', {
      required: true,
      origin: 'answer',
    }),
    column(7, 'payload', 'json', 'the answer as sent, members in alphabetical order', { json: 'record' }),
    column(8, 'reason', 'text', 'what the service said where it gave nothing', { origin: 'answer' }),
  ],
  key: ['href'],
  write: 'merge',
  merge: { ignore: ['resource', 'resource_id'], presentWhen: "outcome = 'found'" },
});
