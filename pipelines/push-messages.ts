import { column, declarePipeline } from '../src/core/pipeline.ts';
import { childOf, inbox } from '../src/core/source.ts';

export const pushMessages = declarePipeline({
  name: 'push-messages',
  version: 1,
  about: 'Every push message that the receiver accepted, once however often it was delivered.',
  answer: 'push message',
  source: inbox(),
  schedule: '*/10 * * * *',
  table: 'fact_push_message',
  columns: [
    column(1, 'retailerId', 'text', 'the receiving retailer', { required: true }),
    column(2, 'timestamp', 'utc-time', 'when the service handled the event; not when it sent the message', {
      required: true,
    }),
    column(3, 'resource', 'text', 'what the event is about: PROCESS_STATUS, SHIPMENT', {
      required: true,
      from: '`event.resource`',
    }),
    column(4, 'type', 'text', 'what happened: of PROCESS_STATUS SUCCESS, FAILURE or TIMEOUT', {
      required: true,
      from: '`event.type`',
    }),
    column(5, 'resourceId', 'text', 'the resource concerned', { required: true, from: '`event.resourceId`' }),
    column(6, 'metadata', 'json', 'as sent: [{key, value}]', { from: '`event.metadata`' }),
    column(7, 'links', 'json', 'as sent: [{method, href}]', { from: '`event.links`' }),
    column(8, 'keyId', 'text', 'key set that signed the first delivery', { from: '`keyId` of the Signature header' }),
    column(9, 'bodySha256', 'text', 'of the body of the first delivery, which lies in the raw store', {
      from: 'made by the receiver',
    }),
    column(10, 'receivedOn', 'day', 'day of the first delivery', {
      required: true,
      from: 'made by partner-etl: the day of first_delivered_at in the time zone of the service',
    }),
    column(11, 'firstDeliveredAt', 'utc-time', 'when it was first delivered', {
      required: true,
      from: 'made by the receiver',
    }),
    column(12, 'lastDeliveredAt', 'utc-time', 'when it was last delivered', { from: 'made by the receiver' }),
    column(13, 'deliveries', 'count', 'how often it was delivered', { from: 'made by partner-etl: counted' }),
    column(14, 'bodies', 'count', 'different bodies among its deliveries; more than 1: it was sent in several ways', {
      from: 'made by partner-etl: counted by sha256',
    }),
    column(15, 'deliveryId', 'text', 'the first delivery', { from: 'made by the receiver' }),
  ],
  key: ['retailer_id', 'resource', 'type', 'resource_id', 'timestamp'],
  write: 'append',
  day: 'received_on',
  sort: ['timestamp', 'retailer_id', 'resource', 'type', 'resource_id'],
});

export const pushDeliveries = declarePipeline({
  name: 'push-deliveries',
  version: 1,
  about: 'Every delivery of a push message that was accepted, also those of a message that was there already.',
  answer: 'push message',
  source: childOf('push-messages'),
  table: 'push_delivery',
  columns: [
    column(1, 'deliveryId', 'text', 'names the delivery; sorts by when it was accepted', {
      required: true,
      from: 'made by the receiver',
    }),
    column(2, 'receivedOn', 'day', 'day of the delivery', {
      required: true,
      from: 'made by partner-etl: the day of received_at in the time zone of the service',
    }),
    column(3, 'receivedAt', 'utc-time', 'when it was received', { required: true, from: 'made by the receiver' }),
    column(4, 'sourceAddress', 'text', 'where it came from', { from: 'where the connection came from' }),
    column(5, 'retailerId', 'text', 'the receiving retailer', { required: true }),
    column(6, 'timestamp', 'utc-time', 'when the service handled the event', { required: true }),
    column(7, 'resource', 'text', 'what the event is about', { required: true, from: '`event.resource`' }),
    column(8, 'type', 'text', 'what happened', { required: true, from: '`event.type`' }),
    column(9, 'resourceId', 'text', 'the resource concerned', { required: true, from: '`event.resourceId`' }),
    column(10, 'keyId', 'text', 'key set that signed it', { from: '`keyId` of the Signature header' }),
    column(11, 'bodySha256', 'text', 'of the body', { from: 'made by the receiver' }),
  ],
  key: ['delivery_id'],
  write: 'append',
  day: 'received_on',
});
