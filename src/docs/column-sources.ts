/** Where the value of a column comes from: the service's field and the answer that has it, or the rule by which we make it. */
import { assert } from '../core/errors.ts';
import {
  type DerivedRule,
  EXTRA_COLUMN,
  FETCH_COLUMN,
  LOADED_COLUMN,
  OBSERVED_FROM,
  OBSERVED_ON,
  OBSERVED_TO,
  type Pipeline,
  type SourceColumn,
} from '../core/pipeline.ts';

const RULES: Readonly<Record<DerivedRule, string>> = {
  'status-group':
    'geaccepteerd → approved; what begins with geweigerd → rejected; open → open; another word → unknown where the status is final, else open; case does not matter',
  'local-time': 'the text as a time without an offset; one that has an offset is brought to the zone of the service',
  'utc-time':
    'the text in the time zone of the service (service.timeZone in the settings), or with the offset that it has',
};

/** Columns that partner-etl makes, wherever they stand. */
const MADE: Readonly<Record<string, string>> = {
  [EXTRA_COLUMN]: 'members of the answer that the contract does not know',
  [FETCH_COLUMN]: 'made by partner-etl: the id of the request, see etl.fetch',
  [LOADED_COLUMN]: 'made by the warehouse when it loads the row',
  [OBSERVED_TO]: 'made by the warehouse: observed_from of the next version of the same thing',
  [OBSERVED_ON]: 'made by partner-etl: the day of observed_from in the time zone of the service',
  [OBSERVED_FROM]: 'made by partner-etl: when the answer was complete',
};

interface Answer {
  /** The report, answer or message that brings the rows. */
  readonly told: string;
  /** Columns that are not simply the field of the answer: the field where it has another name or place, or what we make. */
  readonly columns: Readonly<Record<string, string>>;
}

const asked = 'asked for by partner-etl';
const outcome = "made by partner-etl from the answer's status";
const reason = 'the text of an answer that refuses';

/** By pipeline. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  promotions: { told: 'promotions report', columns: {} },
  orders: { told: 'orders report', columns: {} },
  'order-item-versions': {
    told: 'orders report',
    columns: { is_present: 'made by partner-etl: whether a later answer for the day still has the item' },
  },
  commissions: { told: 'commissions report', columns: {} },
  products: {
    told: 'catalogue: product by EAN',
    columns: {
      ean: asked,
      country_code: asked,
      language: asked,
      outcome,
      reason,
      image_url: '`image.url`',
      image_mime_type: '`image.mimeType`',
      image_width: '`image.width`',
      image_height: '`image.height`',
      offer_price: '`offer.price`',
      offer_strikethrough_price: '`offer.strikethroughPrice`',
      offer_delivery_description: '`offer.deliveryDescription`',
      payload: 'the whole answer',
    },
  },
  'commission-rates': {
    told: 'commission by EAN, single or bulk',
    columns: {
      ean: asked,
      condition: asked,
      asked_price: asked,
      outcome,
      reason,
      unit_price: '`unitPrice`, or `price`',
    },
  },
  'commission-reductions': {
    told: 'commission by EAN, reductions[]',
    columns: { ean: asked, condition: asked, asked_price: asked, position: 'made by partner-etl: place in the list' },
  },
  reductions: {
    told: 'reductions file',
    columns: {
      ean: '`EAN`',
      maximum_price: '`MaximumPrice`',
      cost_reduction: '`CostReduction`',
      start_date: '`StartDate`',
      end_date: '`EndDate`',
      file_name: 'Content-Disposition of the download',
      is_present: 'made by partner-etl: whether this file has the line',
    },
  },
  'reductions-files': {
    told: 'reductions file',
    columns: {
      file_name: 'Content-Disposition of the download',
      asked_name: 'the answer of the call for the newest name',
      sha256: 'made by partner-etl',
      bytes: 'made by partner-etl',
      lines: 'made by partner-etl',
      is_same_content: 'made by partner-etl: its sha256 is that of the file before',
    },
  },
  'push-messages': {
    told: 'push message',
    columns: {
      resource: '`event.resource`',
      type: '`event.type`',
      resource_id: '`event.resourceId`',
      metadata: '`event.metadata`',
      links: '`event.links`',
      key_id: '`keyId` of the Signature header',
      body_sha256: 'made by the receiver',
      received_on: 'made by partner-etl: the day of first_delivered_at in the time zone of the service',
      first_delivered_at: 'made by the receiver',
      last_delivered_at: 'made by the receiver',
      deliveries: 'made by partner-etl: counted',
      bodies: 'made by partner-etl: counted by sha256',
      position: 'made by the receiver',
    },
  },
  'push-deliveries': {
    told: 'push message',
    columns: {
      segment: 'made by the receiver',
      position: 'made by the receiver',
      received_on: 'made by partner-etl: the day of received_at in the time zone of the service',
      received_at: 'made by the receiver',
      source_address: 'where the connection came from',
      resource: '`event.resource`',
      type: '`event.type`',
      resource_id: '`event.resourceId`',
      key_id: '`keyId` of the Signature header',
      body_sha256: 'made by the receiver',
    },
  },
  subscriptions: {
    told: 'list of subscriptions',
    columns: { is_present: 'made by partner-etl: whether the list has it' },
  },
  'process-statuses': {
    told: 'process status',
    columns: { process_status_id: '`processStatusId`, or `id`', outcome, reason, asked_by: 'made by partner-etl' },
  },
  'push-links': {
    told: 'whatever the link of a push message leads to',
    columns: {
      href: '`event.links[].href` of the message',
      resource: '`event.resource` of the message',
      resource_id: '`event.resourceId` of the message',
      outcome,
      payload: 'the whole answer',
      reason,
    },
  },
};

/** The report, answer or message that the rows of a pipeline come from. */
export function toldBy({ name }: Pipeline): string {
  const answer = ANSWERS[name];
  assert(answer, `nothing says where the rows of ${name} come from`);
  return answer.told;
}

/** The source of every column of the pipeline's table, by column. */
export function columnSources(pipeline: Pipeline): ReadonlyMap<string, string> {
  const { columns, derived } = pipeline;
  return new Map([
    ...Object.entries(MADE),
    ...columns.map((c) => [c.column, sourceOf(pipeline, c)] as const),
    ...derived.map((d) => [d.column, `derived from ${d.from}: ${RULES[d.rule]}`] as const),
  ]);
}

function sourceOf(pipeline: Pipeline, { column, field }: SourceColumn): string {
  const special = ANSWERS[pipeline.name]?.columns[column] ?? MADE[column];
  return special ?? `field \`${field}\`, ${toldBy(pipeline)}`;
}
