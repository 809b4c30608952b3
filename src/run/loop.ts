/**
 * The loop that all data goes through: request → response, from the service or from the raw store alike → the lake. `run`, `backfill`,
 * `replay`, `rejects --retry` and `release` are requests for it; what differs between kinds of sources lies in sources/.
 *
 * A request that fails stands in the tally and the next one is tried, until so many fail in a row as the source bears. A refusal, a
 * mistake of ours and the operator end it at once. Where the source allows it, the next response is fetched while one is applied: the
 * two use different resources (the network and one core here, DuckDB's threads there).
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { asEtlError, type ErrorKind, type EtlError } from '../core/errors.ts';
import { sliceText } from '../core/log.ts';
import type { Pipeline } from '../core/pipeline.ts';
import { noTracer, type Span } from '../core/tracer.ts';
import { remake } from './merge/remaking.ts';
import type { Session } from './session.ts';
import type { Into, Request, Requests, Response } from './sources/source.ts';
import type { Applied } from './tally.ts';

/**
 * Carries out requests of a pipeline and applies what comes. Errors are in the tally; returns whether there was none, and nothing is left
 * of it. What is remade is only taken over then.
 */
export async function carryOut(
  session: Session,
  pipeline: Pipeline,
  find: () => Promise<Requests | null>,
  isReleased = false,
): Promise<boolean> {
  const { context, tally } = session;
  const { name } = pipeline;
  try {
    const requests = await find();
    if (requests === null) return true;
    const { total, unit, budget, remadeFrom, done } = requests;
    if (total > 0) context.progress.begin(name, total, unit, budget);
    const work = (into: Into) => goThrough(session, pipeline, requests, into);
    if (remadeFrom === undefined) {
      if (!(await work({ place: { lake: context.lake, under: null }, isReleased }))) return false;
    } else {
      const changed = await remake(session, pipeline, remadeFrom, (place) => work({ place, isReleased: true }));
      if (changed === null) return false;
      tally.changed += changed;
      context.progress.window(name, { from: remadeFrom, to: '', rows: 0, changed, units: 0 });
    }
    await done?.();
    return true;
  } catch (thrown) {
    tally.errors.push(asEtlError(thrown).about({ pipeline: name }));
    return false;
  } finally {
    context.progress.end(name);
  }
}

/** Returns whether everything was applied. */
async function goThrough(session: Session, pipeline: Pipeline, requests: Requests, into: Into): Promise<boolean> {
  const { context, tally } = session;
  const { isAhead = false, failuresInARow = 1, total, unit } = requests;
  await requests.prepare?.(into.place);
  const coming = new Coming(session, pipeline, requests.each);
  let [begun, failures, isWhole] = [0, 0, true];
  const isOver = (kind: ErrorKind) => context.signal.aborted || kind === 'refused' || kind === 'bug';
  const isLast = (error: EtlError | null, inARow: number) =>
    error !== null && (isOver(error.kind) || inARow >= failuresInARow);
  let next: Promise<Fetched | null> | null = coming.next();
  for (let fetched = await next; fetched !== null; fetched = await next) {
    begun += 1;
    next = isAhead && !isLast(fetched.error, failures + 1) ? coming.next() : null;
    const error: EtlError | null = fetched.error ?? (await applyOne(session, pipeline, fetched, into));
    await discard(fetched, error);
    failures = error === null ? 0 : failures + 1;
    isWhole &&= error === null;
    // Calls that are broken off when the operator stops the run are no errors of theirs.
    if (error !== null && !(context.signal.aborted && fetched.error)) tally.errors.push(error);
    if (isLast(error, failures)) {
      await discard(await next, null); // it may still be writing into the run's folder
      if (error && !isOver(error.kind) && begun < total)
        context.progress.note(
          `${pipeline.name}: ${failures} ${unit}s failed in a row, the rest waits for the next run`,
        );
      return false;
    }
    next ??= coming.next();
  }
  return isWhole && !context.signal.aborted;
}

/** A request that was carried out. */
interface Fetched {
  readonly request: Request | null;
  readonly response: Response | null;
  readonly error: EtlError | null;
  /** Of the request, until its response is applied. */
  readonly span: Span;
  /** Scratch folder of the request, until then. */
  readonly folder: string;
}

/** Carries out requests, one a call. */
class Coming {
  private readonly session: Session;
  private readonly pipeline: Pipeline;
  private readonly each: Iterator<Request> | AsyncIterator<Request>;
  private begun = 0;

  constructor(session: Session, pipeline: Pipeline, each: Requests['each']) {
    this.session = session;
    this.pipeline = pipeline;
    this.each = Symbol.asyncIterator in each ? each[Symbol.asyncIterator]() : each[Symbol.iterator]();
  }

  /** Never rejects: an error is a value, since nobody may be listening yet. null: there is no more, or the run is asked to end. */
  async next(): Promise<Fetched | null> {
    const { context, work } = this.session;
    if (context.signal.aborted) return null;
    const { name } = this.pipeline;
    const folder = path.join(work, `${name}-${this.begun}`);
    this.begun += 1;
    let [request, response, span]: [Request | null, Response | null, Span] = [null, null, noTracer.open('')];
    try {
      const { done, value } = await this.each.next();
      if (done) return null;
      request = value;
      await mkdir(folder, { recursive: true });
      if (value.range)
        span = context.tracer.open('window', { pipeline: name, slice: sliceText(value.range.from, value.range.to) });
      response = await span.within(() => value.fetch(folder));
      return { request, response, error: null, span, folder };
    } catch (thrown) {
      return { request, response, error: asEtlError(thrown).about(concernOf(this.pipeline, request)), span, folder };
    }
  }
}

/** The error that it failed with, or null. */
async function applyOne(
  { context, tally, ledger }: Session,
  pipeline: Pipeline,
  { request, response, span }: Fetched,
  into: Into,
): Promise<EtlError | null> {
  if (response === null) return null;
  try {
    const found = await span.within(() => response.apply(into));
    // What is made afresh is compared with what was there when all of it is made, and none of it is news.
    const { changes: _, ...counted } = found;
    const applied: Applied = into.place.under === null ? found : { ...counted, changed: 0 };
    tally.add(applied);
    ledger.drift.push(...applied.drift);
    const { rows, changed } = applied;
    if (response.shown) context.progress.window(pipeline.name, { ...response.shown, rows, changed });
    return null;
  } catch (thrown) {
    return asEtlError(thrown).about(concernOf(pipeline, request));
  }
}

function concernOf({ name }: Pipeline, request: Request | null) {
  const range = request?.range;
  return { pipeline: name, ...(range ? { window: `${range.from}..${range.to}` } : {}) };
}

async function discard(fetched: Fetched | null, error: EtlError | null): Promise<void> {
  if (fetched === null) return;
  fetched.span.fail(error);
  fetched.span.end();
  await rm(fetched.folder, { recursive: true, force: true });
}
