/**
 * Which processes are asked for. The service forgets a process after 48 hours: one that it does not know any more is asked for
 * again only where that may have been too early, before its retries were over or before a message came that tells of it.
 */
import { isoTime } from '../../core/clock.ts';
import { isPathId } from '../../core/ids.ts';
import { historyOf, type Pipeline } from '../../core/pipeline.ts';
import type { FollowingSettings } from '../../core/source.ts';
import { type Engine, quoteText, type Row, readParquet } from '../../engine/duckdb.ts';
import { isEnded } from '../../extract/subscription-shapes.ts';
import { isExactArray, isExactObject, parseExact } from '../../json/exact-json.ts';
import { DriftCounts } from '../../sources/lines.ts';
import { type RunContext, settingsOf } from '../context.ts';
import type { Following, ProcessQuestion } from './due.ts';
import { type IsOwn, ownLinks, recentMessages } from './messages.ts';

/** The last retry of a message comes 15 minutes after the first try; the rest is a margin. */
const RETRIES_MINUTES = 20;

/** The processes that are due. Table `asked` says what was asked before. */
export async function processesDue(context: RunContext, engine: Engine, pipeline: Pipeline): Promise<Following> {
  const sql = await dueSql(context, engine, pipeline);
  const counts = await engine.rows(`SELECT reason, count(*) AS n FROM (${sql}) GROUP BY reason ORDER BY reason`);
  const due = Object.fromEntries(counts.map((row) => [String(row.reason), Number(row.n)]));
  const total = Object.values(due).reduce((sum, n) => sum + n, 0);
  const callsAllowed = settingsOf<FollowingSettings>(context, pipeline).callsPerNight;
  // What is forgotten first is asked for first.
  const rows = await engine.rows(`SELECT * FROM (${sql}) ORDER BY reason, since, id LIMIT ${callsAllowed}`);
  const drift = new DriftCounts(pipeline.name);
  const isOwn = ownLinks(context, pipeline);
  const processes = rows.flatMap((row) => questionOf(row, isOwn, drift) ?? []);
  const leftOut = total - rows.length;
  return { due, leftOut, calls: processes.length, callsAllowed, processes, links: [], drift: drift.report() };
}

/** null for an id that no call can be made for. */
function questionOf(row: Row, isOwn: IsOwn, drift: DriftCounts): ProcessQuestion | null {
  const [id, fetchId] = [String(row.id), String(row.fetch_id ?? '')];
  if (!isPathId(id)) {
    drift.add(fetchId, 'bad_id', 'resourceId', id);
    return null;
  }
  const links = row.links === null ? [] : linksIn(String(row.links));
  for (const href of links) if (!isOwn(href)) drift.add(fetchId, 'foreign_link', 'links', href);
  return { id, askedBy: row.message_at === null ? 'status' : 'message', href: links.find(isOwn) ?? null };
}

/** Addresses to be called with GET. */
function linksIn(json: string): string[] {
  const links = parseExact(json);
  if (!isExactArray(links)) return [];
  return links.flatMap((link) => {
    const [method, href] = isExactObject(link) ? [link.get('method'), link.get('href')] : [];
    return typeof method === 'string' && method.toUpperCase() === 'GET' && typeof href === 'string' ? href : [];
  });
}

async function dueSql(context: RunContext, engine: Engine, pipeline: Pipeline): Promise<string> {
  const now = `TIMESTAMPTZ ${quoteText(isoTime(context.clock.now()))}`;
  const horizon = `first_seen + INTERVAL ${RETRIES_MINUTES} MINUTES`;
  return `SELECT * FROM (
      SELECT *, coalesce(first_seen, message_at) AS since, CASE
          WHEN started AND (is_found OR last_asked < ${horizon}) AND (${horizon} <= ${now} OR message_at IS NOT NULL) THEN 'open'
          WHEN message_at IS NOT NULL AND (is_found OR last_asked IS NULL OR last_asked < message_at) THEN 'reported' END AS reason
      FROM (
        SELECT coalesce(k.id, t.id) AS id, k.first_seen, coalesce(k.is_found, false) AS is_found, coalesce(k.started, false) AS started,
          coalesce(k.ended, false) AS ended, greatest(k.last_seen, a.asked_at) AS last_asked, t.message_at, t.links, t.fetch_id
        FROM (${await knownProcesses(context, engine, pipeline)}) AS k
          FULL JOIN (${await reportedProcesses(context)}) AS t ON t.id = k.id
          LEFT JOIN asked AS a ON a.process_status_id = coalesce(k.id, t.id))
      WHERE NOT ended)
    WHERE reason IS NOT NULL`;
}

/** A row for each process that messages report, with the links of the newest one. */
async function reportedProcesses(context: RunContext): Promise<string> {
  return `SELECT resource_id AS id, max(message_at) AS message_at, arg_max(links, message_at) AS links, arg_max(fetch_id, message_at) AS fetch_id
    FROM ${await recentMessages(context)} WHERE resource = 'PROCESS_STATUS' GROUP BY resource_id`;
}

/** A row for each process that the lake has, of what it is and what it was. */
async function knownProcesses({ lake, pipelines }: RunContext, engine: Engine, pipeline: Pipeline): Promise<string> {
  const history = historyOf(pipelines, pipeline);
  const tables = history ? [pipeline, history] : [pipeline];
  const slices = await Promise.all(tables.map(({ name }) => lake.slices(name)));
  const files = slices.flatMap((own) => [...own.values()].flatMap((entry) => lake.rowsFile(entry) ?? []));
  if (files.length === 0)
    return `SELECT NULL::VARCHAR AS id, NULL::TIMESTAMPTZ AS first_seen, NULL::TIMESTAMPTZ AS last_seen, false AS is_found,
      false AS started, false AS ended LIMIT 0`;
  const versions = readParquet(files, ['union_by_name = true']);
  const statuses = await engine.rows(`SELECT DISTINCT status FROM ${versions} WHERE status IS NOT NULL`);
  const ends = statuses.map(({ status }) => String(status)).filter(isEnded);
  const ended = ends.length === 0 ? 'false' : `coalesce(status IN (${ends.map(quoteText).join(', ')}), false)`;
  return `SELECT process_status_id AS id, min(valid_from) AS first_seen, max(valid_from) AS last_seen,
      arg_max(outcome, valid_from) = 'found' AS is_found, bool_or(coalesce(asked_by = 'start', false)) AS started, bool_or(${ended}) AS ended
    FROM ${versions} GROUP BY process_status_id`;
}
