/** Which links of push messages are followed. Those of process statuses are not: they lead to what has a pipeline of its own. */
import type { Pipeline } from '../../core/pipeline.ts';
import type { FollowingSettings } from '../../core/source.ts';
import type { Engine, Row } from '../../engine/duckdb.ts';
import { DriftCounts } from '../../sources/lines.ts';
import { type RunContext, settingsOf } from '../context.ts';
import type { Following, LinkQuestion } from './due.ts';
import { ownLinks, recentMessages } from './messages.ts';

/** A call that ended so soon after a message came may have begun before: what it saw may be older than the message. */
const CALL_SECONDS = 10;
/** Links that are looked through at once. */
const LINKS_A_PAGE = 10_000;

/** The links that are due. Table `asked` says what was asked before. */
export async function linksDue(context: RunContext, engine: Engine, pipeline: Pipeline): Promise<Following> {
  const callsAllowed = settingsOf<FollowingSettings>(context, pipeline).callsPerNight;
  const isOwn = ownLinks(context, pipeline);
  const drift = new DriftCounts(pipeline.name);
  const links: LinkQuestion[] = [];
  let leftOut = 0;
  await engine.run(`CREATE OR REPLACE TABLE linked AS ${await linksDueSql(context)}`);
  try {
    // What the budget leaves out is only counted: to judge 100,000 addresses would take three seconds.
    leftOut = Number((await engine.row('SELECT count(*) AS n FROM linked')).n);
    for await (const row of linkedRows(engine)) {
      if (links.length === callsAllowed) break;
      leftOut -= 1;
      const href = String(row.href);
      if (isOwn(href)) links.push({ href, resource: String(row.resource), resourceId: String(row.resource_id) });
      else drift.add(String(row.fetch_id), 'foreign_link', 'links', href);
    }
  } finally {
    await engine.run('DROP TABLE linked');
  }
  const linked = links.length + leftOut;
  const due = linked === 0 ? {} : { linked };
  return { due, leftOut, calls: links.length, callsAllowed, processes: [], links, drift: drift.report() };
}

async function* linkedRows(engine: Engine): AsyncGenerator<Row> {
  for (let from = 0; ; from += LINKS_A_PAGE) {
    const rows = await engine.rows(
      `SELECT href, resource, resource_id, fetch_id FROM linked WHERE place > ${from} AND place <= ${from + LINKS_A_PAGE} ORDER BY place`,
    );
    yield* rows;
    if (rows.length < LINKS_A_PAGE) return;
  }
}

/**
 * A row for each address that was not looked at since the newest message that links to it was first delivered. The newest come
 * first: an address that can never be had must not stand in the way of those that come behind it.
 */
async function linksDueSql(context: RunContext): Promise<string> {
  return `SELECT *, row_number() OVER (ORDER BY message_at DESC, href) AS place FROM (
      SELECT href, max(message_at) AS message_at, arg_max(resource, message_at) AS resource, arg_max(resource_id, message_at) AS resource_id,
        arg_max(fetch_id, message_at) AS fetch_id
      FROM (
        SELECT message_at, resource, resource_id, fetch_id, json_extract_string(link, '$.href') AS href
        FROM (
          SELECT message_at, resource, resource_id, fetch_id, unnest(json_extract(links::JSON, '$[*]')) AS link
          FROM ${await recentMessages(context)} WHERE resource <> 'PROCESS_STATUS' AND links IS NOT NULL)
        WHERE upper(json_extract_string(link, '$.method')) = 'GET')
      WHERE href IS NOT NULL GROUP BY href) AS l
    WHERE NOT EXISTS (SELECT 1 FROM asked AS a WHERE a.href = l.href AND a.asked_at > l.message_at + INTERVAL ${CALL_SECONDS} SECONDS)`;
}
