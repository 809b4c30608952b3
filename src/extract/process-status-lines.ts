/**
 * Answers about processes → lines of the pipeline process-statuses: one record an answer, also of one that says that the service
 * knows no such process (404).
 *
 * Answers come from the nightly run and from the commands that start processes; both pack them with the same questions.
 * For each answer:  1 = found + missing + rejects.
 */
import { isDay } from '../core/days.ts';
import { assert, EtlError } from '../core/errors.ts';
import { type ExactDocument, isExactObject } from '../core/exact-json.ts';
import { LIMITS } from '../core/limits.ts';
import type { DriftRecord, FetchRecord } from '../core/records.ts';
import { isPathId } from '../partner/subscriptions.ts';
import { bodyText, documentOf, isRefusal, isSoundUtf8, type LookupAnswer } from './lookup-answer.ts';
import { refusalReason } from './refusal.ts';
import { type ProcessStatus, parseProcessStatus } from './subscription-shapes.ts';
import { DriftCounts, Line, type LineFile, LineSink, rejectRaw, type ToldBy, toldBy } from './told-lines.ts';
import { plainText, ValueTaker } from './told-values.ts';

const PROCESS_STATUSES = 'process-statuses';

/** Why an answer was asked for, as it is packed beside it. */
export interface ProcessAsked {
  /** `start`: it answers a request of ours; `status`: asked for afterwards; `message`: asked for after a push message. */
  readonly askedBy: 'start' | 'status' | 'message';
  /** null for a start: only the answer tells it. */
  readonly id: string | null;
}

export interface ProcessStatusCounts {
  told: number;
  found: number;
  missing: number;
  rejects: number;
}

export interface ProcessStatusFiles {
  readonly processes: LineFile;
  /** Lines of ToldReject. */
  readonly rejects: LineFile;
  readonly counts: Readonly<ProcessStatusCounts>;
  readonly drift: readonly DriftRecord[];
}

const KNOWN_STATUSES: ReadonlySet<string> = new Set(['PENDING', 'SUCCESS', 'FAILURE', 'TIMEOUT']);
/** What the service answers about a process that it does not know, or not any more. */
const MISSING: ReadonlySet<number> = new Set([404, 410]);
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * The process that a document tells of; where it names none, the one that was asked about. Errors: those of
 * `parseProcessStatus`, `failed/answer_too_large`.
 */
export function toldProcess(document: ExactDocument, askedId: string | null): ProcessStatus {
  const { value } = document;
  if (document.sentText(value).length > LIMITS.stateAnswerBytes)
    throw new EtlError(
      'failed',
      'answer_too_large',
      `the process status is larger than ${LIMITS.stateAnswerBytes} bytes`,
    );
  if (askedId === null || !isExactObject(value)) return parseProcessStatus(document);
  const isNamed = ['processStatusId', 'id'].some((name) => (plainText(value.get(name)) ?? '') !== '');
  return parseProcessStatus(isNamed ? document : { value: new Map([...value, ['processStatusId', askedId]]) });
}

/** A process status is one record. Errors: those of `toldProcess`. */
export function processItems(document: ExactDocument, askedId: string | null): number {
  toldProcess(document, askedId);
  return 1;
}

/** Whether the process is the one that was asked about; ids that are hexadecimal may come in either case. */
export function isAsked({ id }: ProcessStatus, askedId: string): boolean {
  return id.toLowerCase() === askedId.toLowerCase();
}

export class ProcessStatusLines {
  private readonly timeZone: string;
  private readonly processes: LineSink;
  private readonly rejects: LineSink;
  private readonly drift = new DriftCounts(PROCESS_STATUSES);
  private readonly counts: ProcessStatusCounts = { told: 0, found: 0, missing: 0, rejects: 0 };
  /** Number of the next row or reject. */
  private item = 0;

  private constructor(timeZone: string, processes: LineSink, rejects: LineSink) {
    this.timeZone = timeZone;
    this.processes = processes;
    this.rejects = rejects;
  }

  /** Opens the files in a folder that is there; `timeZone` is the service's. */
  static async open(folder: string, timeZone: string): Promise<ProcessStatusLines> {
    const processes = await LineSink.open(folder, PROCESS_STATUSES);
    return new ProcessStatusLines(timeZone, processes, await LineSink.open(folder, `${PROCESS_STATUSES}.rejects`));
  }

  /**
   * Takes an answer with why it was asked for. Errors: `failed/not_json`, those of `toldProcess`, and `failed/damaged_answer`
   * where it cannot be known what was asked; nothing of the answer is taken then.
   */
  async take({ fetch, asked, body }: LookupAnswer): Promise<void> {
    const question = askedIn(asked, fetch);
    const told = toldBy(fetch, this.timeZone, this.item);
    if (isRefusal(fetch)) {
      if (question.id === null || !MISSING.has(fetch.status)) throw damaged(fetch, `its status is ${fetch.status}`);
      const line = this.head(question.id, question, told, 'not_found');
      this.processes.put(line.put('reason', refusalReason(fetch.status, bodyText(body))));
      this.counts.missing++;
    } else this.takeProcess(question, documentOf(body), told, isSoundUtf8(body));
    this.counts.told++;
    await Promise.all([this.processes.flush(), this.rejects.flush()]);
  }

  async close(): Promise<ProcessStatusFiles> {
    const [processes, rejects] = await Promise.all([this.processes.close(), this.rejects.close()]);
    const { counts } = this;
    assert(counts.told === counts.found + counts.missing + counts.rejects, 'a process status went astray');
    return { processes, rejects, counts, drift: this.drift.report() };
  }

  private takeProcess(question: ProcessAsked, document: ExactDocument, told: ToldBy, isSound: boolean): void {
    const { fetchId, observedOn: day, firstItem } = told;
    const process = toldProcess(document, question.id);
    for (const { kind, name, count } of document.mends) this.drift.add(fetchId, kind, name, '', count);
    if (!isSound) this.drift.add(fetchId, 'invalid_utf8', 'status', '');
    const raw = document.sentText(document.value);
    const fault = faultOf(process, question.id);
    if (fault !== null) {
      this.counts.rejects++;
      this.rejects.put({ fetch_id: fetchId, item: this.item++ - firstItem, day, ...fault, raw: rejectRaw(raw) });
      return;
    }
    const line = this.head(question.id ?? process.id, question, told, 'found').put('status', process.status);
    if (!KNOWN_STATUSES.has(process.status)) this.drift.add(fetchId, 'unknown_value', 'status', process.status);
    for (const field of ['entityId', 'eventType', 'description', 'errorMessage'] as const)
      if (process[field] !== null) line.put(field, process[field]);
    if (process.links !== null) line.put('links', this.drift.jsonText(fetchId, 'links', process.links));
    const values = new ValueTaker(line, fetchId, this.drift);
    const { createTimestamp } = process;
    // A time that cannot be read is no reason to lose the status.
    if (createTimestamp !== null && isInstant(createTimestamp)) line.put('createTimestamp', createTimestamp);
    else if (createTimestamp !== null) values.keepUnknown('createTimestamp', createTimestamp);
    for (const [name, value] of process.extra ?? []) values.keepUnknown(name, value);
    this.processes.put(values.finish(raw));
    this.counts.found++;
  }

  private head(id: string, { askedBy }: ProcessAsked, told: ToldBy, outcome: string): Line {
    const line = new Line(this.item++, told).put('processStatusId', id);
    return line.putPlain('askedBy', askedBy).putPlain('outcome', outcome);
  }
}

/** Why the answer cannot become a row. */
function faultOf(
  process: ProcessStatus,
  askedId: string | null,
): { readonly reason: string; readonly detail: string } | null {
  const { id } = process;
  if (!isPathId(id)) return { reason: 'bad_id', detail: `processStatusId = ${id.slice(0, 200)}` };
  if (askedId === null || isAsked(process, askedId)) return null;
  return { reason: 'other_process', detail: `processStatusId = ${id.slice(0, 200)}, not ${askedId}` };
}

function isInstant(text: string): boolean {
  return TIMESTAMP.test(text) && isDay(text.slice(0, 10)) && Number.isFinite(Date.parse(text));
}

/** What was asked, as it was packed. It is ours, but the file may be damaged. */
function askedIn(asked: unknown, fetch: FetchRecord): ProcessAsked {
  const question = asked as Partial<ProcessAsked> | null;
  const { askedBy, id = null } = question ?? {};
  const isStart = askedBy === 'start' && id === null;
  if (isStart || ((askedBy === 'status' || askedBy === 'message') && typeof id === 'string')) return { askedBy, id };
  throw damaged(fetch, 'there is no question beside it');
}

function damaged(fetch: FetchRecord, why: string): EtlError {
  return new EtlError('failed', 'damaged_answer', `the answer of fetch ${fetch.fetch_id} tells no process: ${why}`, {
    concern: { pipeline: fetch.pipeline, requestId: fetch.fetch_id },
  });
}
