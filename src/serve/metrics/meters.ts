/**
 * The metrics by name. Base units (seconds, bytes), labels of few values each: names of pipelines, endpoints, targets, and words of
 * ours. Nothing that names a person, an order or an amount.
 *
 * Counters begin at 0 with `serve`, as those of any process do, and count what happened since, in whichever process. What was before
 * is in the warehouse (etl.run, etl.fetch) and would cost ten years of reading.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Publications take from a tenth of a second to, for a rebuild, hours. */
const PUBLISH_SECONDS = [0.1, 0.5, 1, 2.5, 5, 15, 60, 300, 1800, 7200];

export type Meters = ReturnType<typeof metersIn>;

export function metersIn(registry: Registry) {
  const make = new Maker(registry);
  return {
    build: make.gauge('build_info', 'Always 1; which version is running', 'version'),
    scrapeErrors: make.counter('scrape_errors_total', 'Failures to read a part of these metrics', 'part'),
    ...callMeters(make),
    ...runMeters(make),
    ...stateMeters(make),
    ...pushMeters(make),
  };
}

class Maker {
  private readonly registers: Registry[];

  constructor(registry: Registry) {
    this.registers = [registry];
  }

  counter<L extends string = never>(name: string, help: string, ...labelNames: L[]): Counter<L> {
    return new Counter({ name: `partner_etl_${name}`, help, labelNames, registers: this.registers });
  }

  gauge<L extends string = never>(name: string, help: string, ...labelNames: L[]): Gauge<L> {
    return new Gauge({ name: `partner_etl_${name}`, help, labelNames, registers: this.registers });
  }

  histogram<L extends string>(name: string, help: string, buckets: number[], ...labelNames: L[]): Histogram<L> {
    return new Histogram({ name: `partner_etl_${name}`, help, labelNames, buckets, registers: this.registers });
  }
}

function callMeters(make: Maker) {
  return {
    calls: make.counter('calls_total', 'Requests to the service; status none: no answer came', 'endpoint', 'status'),
    receivedBytes: make.counter('received_bytes_total', 'Bytes of answers as they came over the wire', 'pipeline'),
    decodedBytes: make.counter('decoded_bytes_total', 'Bytes of answers that were taken in, decoded', 'pipeline'),
    receivedItems: make.counter('received_items_total', 'Items of answers that were taken in', 'pipeline'),
    waits: make.counter('budget_waits_total', 'Calls of ended runs that had to wait for a budget', 'endpoint'),
    waitSeconds: make.counter('budget_wait_seconds_total', 'Seconds that these calls waited', 'endpoint'),
    tokenRequests: make.counter('token_requests_total', 'Requests for an access token, of all processes', 'areas'),
    tokenRequestsLastHour: make.gauge('token_requests_last_hour', 'Of these, those of the last hour', 'areas'),
    tokenLimit: make.gauge('token_requests_hourly_limit', 'The ceiling of them: service.token.mostPerHour', 'areas'),
    tokenRefused: make.gauge('token_refused', '1 from a refusal until a token is granted again, else 0', 'areas'),
  };
}

function runMeters(make: Maker) {
  return {
    runs: make.counter('runs_total', 'Runs that ended; killed: found without an end', 'result', 'exit_code'),
    rows: make.counter('rows_total', 'Rows of answers, by what ended runs made of them', 'outcome'),
    runSlices: make.counter('run_slices_total', 'Slices, by what ended runs made of them', 'outcome'),
    leftOut: make.counter('lookups_left_out_total', 'Look-ups that were due and beyond the budget of their night'),
    loadedRows: make.counter('loaded_rows_total', 'Rows that ended runs loaded into a target', 'target'),
    loadedSlices: make.counter('loaded_slices_total', 'Slices that ended runs loaded into a target', 'target'),
    publish: make.histogram('publish_duration_seconds', 'How long publications took', PUBLISH_SECONDS, 'target'),
    lastStart: make.gauge('last_run_start_timestamp_seconds', 'Begin of the last run that took it', 'pipeline'),
    lastEnd: make.gauge('last_run_end_timestamp_seconds', 'End of the last run that took it and ended', 'pipeline'),
    lastDuration: make.gauge('last_run_duration_seconds', 'How long that run took', 'pipeline'),
    lastExitCode: make.gauge('last_run_exit_code', 'Exit code of that run; 0 and 3 are good', 'pipeline'),
    lastSuccess: make.gauge('last_success_timestamp_seconds', 'End of the last good run that took it', 'pipeline'),
  };
}

function stateMeters(make: Maker) {
  const freshness = 'Since the end of the newest day that is loaded; of look-ups and lists since the last answer';
  return {
    freshness: make.gauge('freshness_seconds', freshness, 'pipeline'),
    slices: make.gauge('slices', 'Days of interest by their state', 'pipeline', 'state'),
    held: make.gauge('held_slices', 'Slices that are kept back until somebody looks', 'pipeline'),
    rejected: make.gauge('rejected_rows', 'Rows that are set aside in what is loaded now', 'pipeline'),
    loaded: make.gauge('stored_rows', 'Rows that the lake holds now', 'pipeline'),
    nextDue: make.gauge('next_due_timestamp_seconds', 'When it is due next; in the past: it waits', 'pipeline'),
    inboxBytes: make.gauge('inbox_bytes', 'Bytes of push messages that wait to be taken in'),
    inboxMessages: make.gauge('inbox_messages', 'Push messages that wait to be taken in'),
  };
}

function pushMeters(make: Maker) {
  return {
    pushMessages: make.counter('push_messages_total', 'Push messages by what was answered', 'outcome', 'reason'),
    pushInHand: make.gauge('push_messages_in_hand', 'Push messages that wait for a key or for the disk'),
    pushDropped: make.counter('push_connections_dropped_total', 'Connections that the receiver closed at once'),
    keyFetches: make.counter('signature_key_fetches_total', 'Times that the signature keys were asked for'),
  };
}
