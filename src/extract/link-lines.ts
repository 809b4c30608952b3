/**
 * What the links of push messages lead to → lines of the pipeline push-links: one record an answer, also of one that tells
 * nothing. Anything may lie behind a link: what cannot be kept as JSON is set aside as a reject, and is not asked for again
 * before another message links to it.
 *
 * For each answer:  1 = found + missing + rejects.
 */
import { createHash } from 'node:crypto';
import { assert, EtlError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import type { DriftRecord, FetchRecord } from '../core/records.ts';
import {
  bodyText,
  type ConsumedLookup,
  documentOf,
  isRefusal,
  isSoundUtf8,
  type LookupAnswer,
  type LookupIncoming,
  type LookupPlace,
  maskedAnswer,
  wholeAnswer,
} from './lookup-answer.ts';
import { refusalReason } from './refusal.ts';
import { DriftCounts, Line, type LineFile, LineSink, rejectRaw, type ToldBy, toldBy } from './told-lines.ts';

const PUSH_LINKS = 'push-links';

export interface LinkQuestion {
  /** The address, as the message has it. */
  readonly href: string;
  /** What the message was about. */
  readonly resource: string;
  readonly resourceId: string;
}

/** The question as it is packed; `unread` says why the body was not kept, as `code:words`. */
type LinkAsked = LinkQuestion & { readonly unread?: string };

export interface LinkCounts {
  told: number;
  found: number;
  /** Not there, or refused. */
  missing: number;
  rejects: number;
}

export interface LinkFiles {
  /** Those of rejects are among them, each with what is wrong with it. */
  readonly links: LineFile;
  readonly counts: Readonly<LinkCounts>;
  readonly drift: readonly DriftRecord[];
}

/**
 * Takes an answer in, whatever it is; of one that is too large, or is encoded in a way that we cannot read, only that is kept.
 * Errors: `retry/damaged_gzip`.
 */
export async function receiveLink(
  { status, contentEncoding, body }: LookupIncoming,
  { href, resource, resourceId }: LinkQuestion,
  { pipeline, vault, pack }: LookupPlace,
): Promise<ConsumedLookup> {
  const { whole: arrived, unread } = await readable(contentEncoding, body);
  const whole = await maskedAnswer(arrived, pipeline, vault);
  const { received, decoded, isGzip } = whole;
  const question = { href, resource, resourceId, ...(unread === null ? {} : { unread }) };
  return {
    value: { status, body: decoded },
    bytesDecoded: decoded.length,
    sha256: createHash('sha256').update(decoded).digest('hex'),
    vaultPath: await pack.add(question, received, isGzip),
    items: status < 300 ? 1 : null,
  };
}

const NOTHING = { received: Buffer.alloc(0), decoded: Buffer.alloc(0), isGzip: false };

async function readable(contentEncoding: string | null, body: AsyncIterable<Uint8Array>) {
  try {
    const whole = await wholeAnswer(contentEncoding, body);
    if (whole.decoded.length <= LIMITS.linkAnswerBytes) return { whole, unread: null };
    return { whole: NOTHING, unread: `answer_too_large:it is larger than ${LIMITS.linkAnswerBytes} bytes` };
  } catch (error) {
    if (!(error instanceof EtlError) || error.kind !== 'failed') throw error;
    return { whole: NOTHING, unread: `${error.code}:${error.message}` };
  }
}

export class LinkLines {
  private readonly timeZone: string;
  private readonly links: LineSink;
  private readonly drift = new DriftCounts(PUSH_LINKS);
  private readonly counts: LinkCounts = { told: 0, found: 0, missing: 0, rejects: 0 };
  /** Number of the next row. */
  private item = 0;

  private constructor(timeZone: string, links: LineSink) {
    this.timeZone = timeZone;
    this.links = links;
  }

  /** Opens the file in a folder that is there; `timeZone` is the service's. */
  static async open(folder: string, timeZone: string): Promise<LinkLines> {
    return new LinkLines(timeZone, await LineSink.open(folder, PUSH_LINKS));
  }

  /** Takes an answer with its question. Errors: `failed/damaged_answer` where that is none; nothing is taken then. */
  async take({ fetch, asked, body }: LookupAnswer): Promise<void> {
    const question = askedIn(asked, fetch);
    const told = toldBy(fetch, this.timeZone, this.item);
    this.counts.told++;
    if (isRefusal(fetch)) {
      const outcome = fetch.status === 404 || fetch.status === 410 ? 'not_found' : 'refused';
      const line = this.head(question, told, outcome);
      this.links.put(line.put('reason', refusalReason(fetch.status, bodyText(body))));
      this.counts.missing++;
    } else this.takeFound(question, body, told);
    await this.links.flush();
  }

  async close(): Promise<LinkFiles> {
    const links = await this.links.close();
    const { counts } = this;
    assert(counts.told === counts.found + counts.missing + counts.rejects, 'what lay behind a link went astray');
    return { links, counts, drift: this.drift.report() };
  }

  private takeFound(question: LinkAsked, body: Uint8Array, told: ToldBy): void {
    const { fetchId } = told;
    const line = this.head(question, told, 'found');
    const payload = question.unread === undefined ? this.payloadOf(fetchId, body) : null;
    if (payload !== null) {
      this.links.put(line.put('payload', payload));
      this.counts.found++;
      return;
    }
    // A body that is no JSON may hold what no text column can.
    const raw = rejectRaw(bodyText(body).replaceAll('\0', ''));
    this.links.put(line.put('_b', question.unread ?? 'not_json:payload').put('_raw', raw));
    this.counts.rejects++;
  }

  /** null for what is no JSON. */
  private payloadOf(fetchId: string, body: Uint8Array): string | null {
    try {
      const { value, mends } = documentOf(body);
      for (const { kind, name, count } of mends) this.drift.add(fetchId, kind, name, '', count);
      if (!isSoundUtf8(body)) this.drift.add(fetchId, 'invalid_utf8', 'payload', '');
      return this.drift.jsonText(fetchId, 'payload', value);
    } catch (error) {
      if (!(error instanceof EtlError) || error.code !== 'not_json') throw error;
      return null;
    }
  }

  private head({ href, resource, resourceId }: LinkQuestion, told: ToldBy, outcome: string): Line {
    const line = new Line(this.item++, told).put('href', href).put('resource', resource).put('resourceId', resourceId);
    return line.putPlain('outcome', outcome);
  }
}

/** The question as it was packed. It is ours, but the file may be damaged. */
function askedIn(asked: unknown, fetch: FetchRecord): LinkAsked {
  const question = asked as Partial<LinkAsked> | null;
  if (
    typeof question?.href === 'string' &&
    typeof question.resource === 'string' &&
    typeof question.resourceId === 'string'
  )
    return question as LinkAsked;
  throw new EtlError('failed', 'damaged_answer', `fetch ${fetch.fetch_id} has no question beside its answer`, {
    concern: { pipeline: fetch.pipeline, requestId: fetch.fetch_id },
  });
}
