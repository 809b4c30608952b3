/**
 * Stored answers without the values that are erased. Objects are immutable: what holds one is read, redacted and put under another
 * name, then the rows name that, then the old object goes. A kill in between leaves an object that no row names; those go too, since
 * nobody can read them any more and they may hold what was erased.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { asEtlError, EtlError } from '../../core/errors.ts';
import type { Masker } from '../../core/masking.ts';
import type { FetchRecord } from '../../core/records.ts';
import { deliveryLine, maskedDelivery, readDeliveries } from '../../extract/stored-deliveries.ts';
import type { RunContext } from '../../run/context.ts';
import { type GatheredResponse, gatheredBytes, gatheredLines, lineOf, responseIn } from '../../store/raw/gather.ts';
import { rawPrefix } from '../../store/raw/raw.ts';
import { fetchesByObject, type ObjectFetches, pathOf, placeOf, replaceFetches } from '../../store/tables/fetches.ts';
import type { Erasures } from '../masking/erasures.ts';
import { type MaskScope, maskJson } from '../masking/mask-text.ts';
import type { ErasureMasker } from '../masking/masker.ts';
import { maskWords } from './words.ts';

export interface RawWork {
  readonly context: RunContext;
  readonly erasures: Erasures;
  /** Name of the pipeline. */
  readonly pipeline: string;
  readonly scope: MaskScope;
  readonly masker: ErasureMasker;
  /** The run that erases; in the names of redacted objects. */
  readonly runId: string;
  /** ISO 8601; stands in the records of what was redacted. */
  readonly at: string;
  /** A file on the file system of the home, for what is being written. */
  readonly scratch: string;
  readonly isDryRun: boolean;
  readonly step: (about: string) => void | Promise<void>;
}

export interface RawErasure {
  readonly answers: number;
  /** Bodies that are no answers, and objects that nothing names. */
  readonly others: number;
  /** sha256 of an answer before → after. */
  readonly hashes: ReadonlyMap<string, string>;
  /** Of objects that cannot be read; the others are done. */
  readonly errors: readonly EtlError[];
}

/** A row, and what it is to say of the redacted answer. */
interface Replaced {
  readonly old: FetchRecord;
  readonly anew: FetchRecord;
  readonly isRedacted: boolean;
}

/** The answers of a pipeline, and what else lies beside them. */
export async function redactRaw(work: RawWork): Promise<RawErasure> {
  const { context, pipeline } = work;
  const hashes = new Map<string, string>();
  const errors: EtlError[] = [];
  let answers = 0;
  for await (const { object, fetches } of storedAnswers(context, pipeline))
    try {
      const isGathered = placeOf(fetches[0]!.raw_path!).line !== null;
      const replaced = await (isGathered ? redactGathered : redactBody)(work, object, fetches);
      if (replaced.length === 0) continue;
      answers += isGathered ? replaced.filter(({ isRedacted }) => isRedacted).length : 1;
      for (const { old, anew } of replaced) hashes.set(old.sha256 ?? '', anew.sha256 ?? '');
      if (!work.isDryRun) await replace(work, object, replaced);
    } catch (thrown) {
      errors.push(unreadable(thrown, context.raw.place.called(object), pipeline));
    }
  const others = (await dropUnnamed(work)) + (await redactRefused(work));
  return { answers, others, hashes, errors };
}

/** The rows of each object; without those whose answer is gone. */
async function* storedAnswers({ state }: RunContext, pipeline: string): AsyncGenerator<ObjectFetches> {
  for await (const { object, fetches } of fetchesByObject(state.db, pipeline)) {
    const there = fetches.filter(({ pruned_at: at }) => at === undefined);
    if (there.length > 0) yield { object, fetches: there };
  }
}

/** The redacted object is in its place: the rows name it, and the old one goes. */
async function replace({ context, step }: RawWork, object: string, replaced: readonly Replaced[]): Promise<void> {
  await step(object);
  await replaceFetches(
    context.state,
    replaced.map(({ anew }) => anew),
  );
  await step(`rows of ${object}`);
  await context.raw.place.delete(object);
}

/** Nothing where nothing in the body is erased. */
async function redactBody(
  work: RawWork,
  object: string,
  fetches: readonly FetchRecord[],
): Promise<readonly Replaced[]> {
  const { context, pipeline, isDryRun } = work;
  if (!(await holdsErased(work, object))) return [];
  const extension = /\.([a-z]+)(?:\.gz)?$/.exec(object)?.[1];
  const isGzip = object.endsWith('.gz');
  const body = await context.raw.receive(pipeline, work.scratch, extension);
  const hash = createHash('sha256');
  let bytes = 0;
  async function* hashed() {
    for await (const chunk of redacted(work, object, work.masker.again())) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  try {
    for await (const chunk of isGzip ? zipped(hashed()) : hashed()) await body.write(chunk);
  } catch (error) {
    await body.discard();
    throw error;
  }
  const sha256 = hash.digest('hex');
  const raw_path = isDryRun ? object : await body.keep(sha256, isGzip);
  if (isDryRun) await body.discard();
  return fetches.map((old) => ({
    old,
    anew: { ...old, sha256, bytes_decoded: bytes, raw_path, notes: { ...old.notes, erased_at: work.at } },
    isRedacted: true,
  }));
}

/** The same of gathered responses and their requests: all rows of the object get another place. */
async function redactGathered(
  work: RawWork,
  object: string,
  fetches: readonly FetchRecord[],
): Promise<readonly Replaced[]> {
  const { context, at, isDryRun } = work;
  const before = (await gatheredLines(context.raw.place, object)).map(responseIn);
  const after = before.map((response) => redactedResponse(work, response));
  if (after.every((response, i) => response === before[i])) return [];
  const name = object.replace(/(?:-[^/]*)?\.ndjson\.gz$/, `-${work.runId}.ndjson.gz`);
  const replaced = fetches.map((old) => {
    const line = placeOf(old.raw_path!).line!;
    const isRedacted = after[line] !== before[line];
    const anew = { ...old, raw_path: pathOf(name, line) };
    if (!isRedacted) return { line, old, anew, isRedacted };
    const { body } = after[line]!;
    const sha256 = createHash('sha256').update(body).digest('hex');
    const notes = { ...old.notes, erased_at: at };
    return { line, old, anew: { ...anew, sha256, bytes_decoded: body.length, notes }, isRedacted };
  });
  const records = new Map(replaced.map(({ line, anew }) => [line, maskWords(work.erasures, anew) as FetchRecord]));
  const lines = after.map((response, line) => lineOf({ ...response, fetch: records.get(line) ?? null }));
  if (!isDryRun) await context.raw.place.put(name, { bytes: await gatheredBytes(lines) });
  return replaced;
}

/** Itself where nothing is erased in it. */
function redactedResponse({ erasures, masker, scope }: RawWork, response: GatheredResponse): GatheredResponse {
  const body = masker.mask(response.body);
  const request = JSON.stringify(response.request);
  const fresh = maskJson(erasures, request, scope);
  const { fetch } = response;
  const isCited = JSON.stringify(maskWords(erasures, fetch)) !== JSON.stringify(fetch);
  if (body === response.body && fresh === request && !isCited) return response;
  return { ...response, request: JSON.parse(fresh), body };
}

function redacted({ context }: RawWork, object: string, masker: Masker): AsyncIterable<Uint8Array> {
  const decoded = context.raw.decoded(object);
  return /\.ndjson\.gz$/.test(object) ? maskedDeliveries(decoded, object, masker) : masker.through(decoded);
}

async function* maskedDeliveries(
  source: AsyncIterable<Uint8Array>,
  name: string,
  masker: Masker,
): AsyncGenerator<Uint8Array> {
  for await (const delivery of readDeliveries(source, name))
    yield Buffer.from(deliveryLine(maskedDelivery(delivery, masker)));
}

async function holdsErased(work: RawWork, object: string): Promise<boolean> {
  const looking = work.masker.again();
  for await (const _ of redacted(work, object, looking)) if (looking.found > 0) return true;
  return false;
}

async function* zipped(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const plain = Readable.from(source, { objectMode: false });
  const zipping = createGzip();
  plain.on('error', (error) => zipping.destroy(error));
  try {
    yield* plain.pipe(zipping) as AsyncIterable<Uint8Array>;
  } finally {
    plain.destroy();
  }
}

/** Whether the row's answer shares an object with one that was redacted: it lies elsewhere than it did. */
export function wasMoved({ raw_path: at }: FetchRecord): boolean {
  return at !== null && /-[^/]*\.ndjson\.gz$/.test(placeOf(at).object);
}

/** Deletes answers that no row names. */
async function dropUnnamed({ context, pipeline, isDryRun }: RawWork): Promise<number> {
  const { place } = context.raw;
  const found: string[] = [];
  for (const kind of ['answers', 'gathered'] as const)
    for await (const { name } of place.list(rawPrefix(pipeline, kind))) found.push(name);
  const named = new Set<string>();
  for await (const { object } of storedAnswers(context, pipeline)) named.add(object);
  const unnamed = found.filter((name) => !named.has(name));
  if (!isDryRun) for (const name of unnamed) await place.delete(name);
  return unnamed.length;
}

/** Bodies that were set aside; one that cannot be unpacked is of use to nobody, and goes. */
async function redactRefused(work: RawWork): Promise<number> {
  const { context, pipeline, isDryRun } = work;
  const { place } = context.raw;
  let changed = 0;
  for await (const { name } of place.list(rawPrefix(pipeline, 'refused'))) {
    const holds = await holdsErased(work, name).catch(() => null);
    if (holds === false) continue;
    changed += 1;
    if (isDryRun) continue;
    if (holds === null || !(await redactInPlace(work, name))) await place.delete(name);
  }
  return changed;
}

/** False where it cannot be read to its end. */
async function redactInPlace(work: RawWork, name: string): Promise<boolean> {
  const { raw } = work.context;
  const isGzip = name.endsWith('.gz');
  const body = await raw.receive(work.pipeline, work.scratch);
  const bytes = redacted(work, name, work.masker.again());
  try {
    for await (const chunk of isGzip ? zipped(bytes) : bytes) await body.write(chunk);
  } catch {
    await body.discard();
    return false;
  }
  await body.refuse(/([^/.]+)\.[a-z.]+$/.exec(name)![1]!, isGzip);
  return true;
}

export function unreadable(thrown: unknown, file: string, pipeline: string): EtlError {
  return new EtlError('failed', 'not_erased', `${file} cannot be looked through: ${asEtlError(thrown).code}`, {
    concern: { file, pipeline },
    hint: 'restore it from a backup or delete it',
  });
}
