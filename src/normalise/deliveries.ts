/**
 * Deliveries of push messages → slices of deliveries and of messages.
 *
 * A delivery has an id since it was accepted, so one that is taken in twice (a run died before it could empty the inbox) is known
 * and changes nothing. A message is never counted up: whatever is said of it is made anew from all
 * its deliveries, the known and the new ones, and what it says itself is that of its first delivery. So the order in which
 * deliveries are taken in makes no difference, nor does how often.
 *
 * The lake holds as known only what can have to do with these deliveries: slices from the day of the earliest message on.
 */
import { mkdir } from 'node:fs/promises';
import type { Day } from '../core/days.ts';
import { type Pipeline, storedColumns } from '../core/pipeline.ts';
import type { DriftRecord } from '../core/records.ts';
import { rowHashSql } from '../engine/content.ts';
import { type Engine, quoteName, readParquet } from '../engine/duckdb.ts';
import { type ChangedSlice, changedSlices, collectRefused, type Incoming, type Taking } from './changed-slices.ts';
import { driftOf } from './drift.ts';
import { dropTables, readObserved, tableNames } from './observed.ts';

export interface DeliveriesInput extends Taking {
  readonly messages: Incoming;
  /** ObservedRows by the same lines. */
  readonly deliveries: Incoming;
}

export interface TakenDeliveries {
  /** Slices whose content is another than the lake's. */
  readonly slices: readonly ChangedSlice[];
  readonly drift: readonly DriftRecord[];
  /** Messages that were not known before. */
  readonly newMessages: number;
  /** Deliveries of messages that were known, and deliveries that were known themselves. */
  readonly duplicates: number;
  readonly rejects: number;
}

/** Names what is made beside the tables of both pipelines. */
const COMING = '"coming deliveries"';
const TOUCHED = '"touched messages"';
const COUNTED = '"counted messages"';
const MERGED = '"merged messages"';

export async function takeDeliveries(engine: Engine, input: DeliveriesInput): Promise<TakenDeliveries> {
  const { messages, deliveries } = input;
  await mkdir(input.outDir, { recursive: true });
  try {
    await readObserved(engine, deliveries.observed, input.timeZone);
    await readObserved(engine, messages.observed, input.timeZone);
    const rejects = await collectRefused(engine, messages, input);
    const drift = await driftOf(
      engine,
      messages.observed.pipeline,
      input.fetchId,
      tableNames(messages.observed.pipeline).observed,
    );
    await findComing(engine, input);
    const slices = await deliverySlices(engine, input);
    const { known, leaving } = await mergeMessages(engine, input);
    drift.push(...(await otherBodies(engine, input)));
    slices.push(...(await messageSlices(engine, input, leaving)));
    const { observed, touched } = await engine.row(
      `SELECT (SELECT count(*) FROM ${tableNames(deliveries.observed.pipeline).observed} WHERE _reject IS NULL) AS observed,
         (SELECT count(*) FROM ${TOUCHED}) AS touched`,
    );
    const newMessages = Number(touched) - known;
    return { slices, drift, newMessages, duplicates: Number(observed) - newMessages, rejects };
  } finally {
    for (const table of [COMING, TOUCHED, COUNTED, MERGED]) await engine.run(`DROP TABLE IF EXISTS ${table}`);
    await dropTables(engine, deliveries.observed.pipeline);
    await dropTables(engine, messages.observed.pipeline);
  }
}

/** Makes tables of the deliveries that are not known yet, and of the messages that they deliver. */
async function findComing(engine: Engine, { messages, deliveries }: DeliveriesInput): Promise<void> {
  const { observed } = tableNames(deliveries.observed.pipeline);
  const files = deliveries.current.knownFiles;
  const unknown = files.length
    ? `AND NOT EXISTS (SELECT 1 FROM ${readParquet(files, ['union_by_name = true'])} AS k WHERE k.delivery_id = t.delivery_id)`
    : '';
  await engine.run(
    `CREATE OR REPLACE TABLE ${COMING} AS SELECT * FROM ${observed} AS t WHERE _reject IS NULL ${unknown}
     QUALIFY row_number() OVER (PARTITION BY delivery_id ORDER BY _item) = 1`,
  );
  await engine.run(
    `CREATE OR REPLACE TABLE ${TOUCHED} AS SELECT DISTINCT ${identity(messages.observed.pipeline)} FROM ${COMING}`,
  );
}

async function deliverySlices(engine: Engine, input: DeliveriesInput): Promise<ChangedSlice[]> {
  const { deliveries } = input;
  const { fresh, refused } = tableNames(deliveries.observed.pipeline);
  await engine.run(`CREATE OR REPLACE TABLE ${fresh} AS SELECT _item, true AS _new FROM ${COMING}`);
  // What is no delivery is set aside with the messages; both read the same lines.
  await engine.run(
    `CREATE OR REPLACE TABLE ${refused} AS SELECT * FROM ${tableNames(input.messages.observed.pipeline).refused} LIMIT 0`,
  );
  return changedSlices(engine, deliveries, input, { at: 'received_at' });
}

/**
 * Replaces table `observed` of the messages by those rows that become other ones, and marks them as fresh. Returns how many of the
 * messages touched were known, and the days that rows leave.
 */
async function mergeMessages(
  engine: Engine,
  { messages, deliveries }: DeliveriesInput,
): Promise<{ readonly known: number; readonly leaving: readonly Day[] }> {
  const { pipeline } = messages.observed;
  const names = tableNames(pipeline);
  const key = identity(pipeline);
  const columns = storedColumns(pipeline).map(({ column }) => quoteName(column));
  await engine.run(
    `CREATE OR REPLACE TABLE ${names.known} AS SELECT ${columns.join(', ')} FROM ${
      messages.current.knownFiles.length
        ? readParquet(messages.current.knownFiles, ['union_by_name = true'])
        : `(SELECT * FROM ${names.observed} LIMIT 0)`
    } SEMI JOIN ${TOUCHED} USING (${key})`,
  );
  await countDeliveries(engine, pipeline, deliveries.current.knownFiles);
  // Of the copies of a message the first delivered one says what it says.
  const counts = `counted.deliveries AS deliveries, counted.bodies AS bodies, counted.last AS last_delivered_at`;
  await engine.run(
    `CREATE OR REPLACE TABLE ${MERGED} AS SELECT first.* REPLACE (${counts}) FROM (
       SELECT * FROM (
         SELECT ${columns.join(', ')} FROM ${names.known}
         UNION ALL SELECT ${columns.join(', ')} FROM ${names.observed} WHERE _item IN (SELECT _item FROM ${COMING}))
       QUALIFY row_number() OVER (PARTITION BY ${key} ORDER BY first_delivered_at, delivery_id) = 1
     ) AS first JOIN ${COUNTED} AS counted USING (${key})`,
  );
  const hash = rowHashSql(pipeline);
  await engine.run(
    `CREATE OR REPLACE TABLE ${names.observed} AS SELECT *, row_number() OVER () AS _item, NULL::VARCHAR AS _reject FROM ${MERGED}
     WHERE ${hash} NOT IN (SELECT ${hash} FROM ${names.known})`,
  );
  await engine.run(`CREATE OR REPLACE TABLE ${names.fresh} AS SELECT _item, true AS _new FROM ${names.observed}`);
  const { known } = await engine.row(`SELECT count(*) AS known FROM ${names.known}`);
  const days = await engine.rows(
    `SELECT DISTINCT received_on::VARCHAR AS day FROM ${names.known} SEMI JOIN ${names.observed} USING (${key})`,
  );
  return { known: Number(known), leaving: days.map(({ day }) => String(day) as Day) };
}

/** Makes a table of how often and when each message touched was delivered in all. */
async function countDeliveries(engine: Engine, pipeline: Pipeline, knownFiles: readonly string[]): Promise<void> {
  const key = identity(pipeline);
  const seen = `${key}, received_at, body_sha256`;
  const before = knownFiles.length
    ? `SELECT ${seen} FROM ${readParquet(knownFiles, ['union_by_name = true'])} SEMI JOIN ${TOUCHED} USING (${key}) UNION ALL`
    : '';
  await engine.run(
    `CREATE OR REPLACE TABLE ${COUNTED} AS
     SELECT ${key}, count(*) AS deliveries, count(DISTINCT body_sha256) AS bodies, max(received_at) AS last
     FROM (${before} SELECT ${seen} FROM ${COMING}) GROUP BY ${key}`,
  );
}

async function messageSlices(engine: Engine, input: DeliveriesInput, leaving: readonly Day[]): Promise<ChangedSlice[]> {
  const { pipeline } = input.messages.observed;
  const key = identity(pipeline);
  const staying = `(${key}) NOT IN (SELECT (${key}) FROM ${tableNames(pipeline).observed})`;
  return changedSlices(engine, input.messages, input, { at: 'last_delivered_at', staying, alsoOn: leaving });
}

/** Messages of which deliveries say different things, and did not before: nobody should rely on either of them. */
async function otherBodies(engine: Engine, { messages, fetchId }: DeliveriesInput): Promise<DriftRecord[]> {
  const { pipeline } = messages.observed;
  const { known, observed } = tableNames(pipeline);
  const { n, example } = await engine.row(
    `SELECT count(*) AS n, min(concat_ws(' ', resource, type, resource_id)) AS example FROM ${observed} AS t
     WHERE bodies > 1 AND NOT EXISTS (SELECT 1 FROM ${known} AS k WHERE ${sameMessage(pipeline, 'k', 't')} AND k.bodies = t.bodies)`,
  );
  if (Number(n) === 0) return [];
  const told200 = String(example).slice(0, 200);
  return [
    {
      pipeline: pipeline.name,
      fetch_id: fetchId,
      kind: 'same_message_other_body',
      field: 'body_sha256',
      count: Number(n),
      example: told200,
    },
  ];
}

/** The columns that name a message, in SQL. */
function identity({ key }: Pipeline): string {
  return (key ?? []).map(quoteName).join(', ');
}

function sameMessage({ key }: Pipeline, a: string, b: string): string {
  return (key ?? []).map((column) => `${a}.${quoteName(column)} = ${b}.${quoteName(column)}`).join(' AND ');
}
