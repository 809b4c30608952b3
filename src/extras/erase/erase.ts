/**
 * Erasing values for a person's request. What identifies goes, what was earned stays: in the place of each value stands a mark, the
 * same everywhere, so that rows are still distinguished, sums are the same and reports still agree.
 *
 *   listed ─▶ lake ─▶ raw store ─▶ inbox ─▶ targets ─▶ records
 *
 * The list (src/extras/masking) comes right before the lake: from then on the service's answers are masked before any stage sees
 * them, so that what a night brings is what the lake says, and no version is written for the mask. The lake changes in one commit.
 * Every other step finds by itself what it has left to do, so a command that was killed, or a target that was out of reach, is
 * fixed by the same command. The targets respell rows and receipts where they stand and load nothing: an erasure is no restatement.
 */
import path from 'node:path';
import { pushMessages } from '../../../pipelines/push-messages.ts';
import { isoTime } from '../../core/clock.ts';
import { asEtlError, EtlError } from '../../core/errors.ts';
import { isNamed } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { Engine } from '../../engine/duckdb.ts';
import type { RunContext } from '../../run/context.ts';
import { followLake, type RunOutcome, runSession, type Session } from '../../run/session.ts';
import type { State } from '../../store/state.ts';
import { noteErasure } from '../../store/tables/erased.ts';
import { renameAnswers } from '../../store/tables/slices.ts';
import { Erasures } from '../masking/erasures.ts';
import { type MaskScope, maskText, scopesOf } from '../masking/mask-text.ts';
import { ErasureMasker } from '../masking/masker.ts';
import { erasedTables, type Renamed, type Sought } from './columns.ts';
import { dropLeftovers, type FileWork, keepReleased, maskCheckHolds, maskInbox } from './files.ts';
import { itemsInLake, type LakeErasure, respellLake } from './lake.ts';
import { redactRaw, wasMoved } from './raw.ts';
import { maskAsked, maskState } from './state.ts';

export interface EraseRequest {
  readonly subIds: readonly string[];
  readonly orders: readonly string[];
}

/** What was found, or would be; names no one. */
export interface ErasedCounts {
  readonly slices: number;
  /** Values in rows and rejects of the lake. */
  readonly lake: number;
  readonly answers: number;
  readonly files: number;
  /** Values in rows, by target; null for one that could not be reached. */
  readonly targets: Readonly<Record<string, number | null>>;
}

/** That something was erased, when, and how much: a row of the state's table `erasure`. */
export interface ErasureRecord {
  readonly erasure_id: string;
  readonly began_at: string;
  /** null: it was killed. */
  readonly ended_at: string | null;
  readonly is_complete: boolean;
  readonly asked: { readonly sub_ids: number; readonly orders: number; readonly items: number };
  readonly found: ErasedCounts | null;
}

/** A step was taken; a place for tests to stop the program. */
export type EraseStep = (
  name: 'listed' | 'lake' | 'raw' | 'inbox' | 'target' | 'records',
  about: string,
) => void | Promise<void>;
const NO_STEP: EraseStep = () => undefined;

export interface Erased {
  readonly outcome: RunOutcome;
  /** Null when it came to nothing. */
  readonly record: ErasureRecord | null;
}

/** The command. Errors: `usage/nothing_to_erase`, `locked/run`; what goes wrong later is in the outcome. */
export async function runErase(context: RunContext, request: EraseRequest, step = NO_STEP): Promise<Erased> {
  demandValues(request);
  const records: ErasureRecord[] = [];
  const after = async ({ context: session, engine, ledger, tally, work }: Session) => {
    const erasing = await Erasing.begin(session, engine, request, {
      runId: ledger.runId,
      folder: work,
      step,
      isDryRun: false,
    });
    const began = { erasure_id: ledger.runId, began_at: isoTime(session.clock.now()) };
    await note(session.state, { ...began, ended_at: null, is_complete: false, asked: erasing.asked, found: null });
    const found = await erasing.carryOut().catch((thrown) => {
      erasing.errors.push(erasing.silenced(asEtlError(thrown)));
      return null;
    });
    if (erasing.errors.length === 0) erasing.errors.push(...(await leftOf(session, engine, request, work)));
    tally.errors.push(...erasing.errors);
    // What the publication before could not load, it may have named by its key.
    tally.errors.splice(0, Infinity, ...tally.errors.map((error) => erasing.unnamed(error)));
    if (found === null) return;
    const ended_at = isoTime(session.clock.now());
    const record = { ...began, ended_at, is_complete: erasing.errors.length === 0, asked: erasing.asked, found };
    await note(session.state, record);
    records.push(record);
  };
  const { targets } = context;
  const outcome = await runSession(context, 'erase', [], async () => undefined, { targets, afresh: false, after });
  return { outcome, record: records[0] ?? null };
}

async function note(state: State, { asked, found, is_complete, ...rest }: ErasureRecord): Promise<void> {
  await noteErasure(state, {
    ...rest,
    is_complete: is_complete ? 1 : 0,
    asked: JSON.stringify(asked),
    found: found === null ? null : JSON.stringify(found),
  });
}

/** What would be erased. Changes nothing, and takes no lock. Errors: `usage/nothing_to_erase`, and of what cannot be read. */
export async function plannedErase(context: RunContext, request: EraseRequest): Promise<ErasedCounts> {
  demandValues(request);
  const engine = await Engine.open({ tempDir: context.paths.work, ...context.engine });
  try {
    const folder = path.join(context.paths.work, 'erase');
    const erasing = await Erasing.begin(context, engine, request, {
      runId: 'dry-run',
      folder,
      step: NO_STEP,
      isDryRun: true,
    });
    const found = await erasing.carryOut();
    const [error] = erasing.errors;
    if (error) throw error;
    return found;
  } finally {
    engine.close();
  }
}

/** Looks again, as if nothing had been done: what is found now was not erased. */
async function leftOf(context: RunContext, engine: Engine, request: EraseRequest, folder: string): Promise<EtlError[]> {
  const looking = await Erasing.begin(context, engine, request, {
    runId: 'look-again',
    folder,
    step: NO_STEP,
    isDryRun: true,
  });
  const { slices, lake, answers, files, targets } = await looking.carryOut();
  const left = Object.entries({ slices, lake, answers, files, ...targets }).filter(([, count]) => count !== 0);
  if (left.length === 0) return looking.errors;
  const where = left.map(([place, count]) => `${place} ${count ?? 'not reached'}`).join(', ');
  return [
    new EtlError('failed', 'not_erased', `not everything was erased; what is left, by place: ${where}`, {
      hint: 'run the same command again; if it stays, tell the developers of partner-etl',
    }),
  ];
}

function demandValues({ subIds, orders }: EraseRequest): void {
  if (subIds.length + orders.length > 0 && ![...subIds, ...orders].includes('')) return;
  throw new EtlError('usage', 'nothing_to_erase', 'no value was given that could be erased', {
    hint: 'name it: partner-etl erase --sub-id TEXT, or --order-id ID',
  });
}

interface EraseOptions {
  /** The run that erases. */
  readonly runId: string;
  readonly folder: string;
  readonly step: EraseStep;
  readonly isDryRun: boolean;
}

/** One erasure as it goes on. */
class Erasing {
  readonly errors: EtlError[] = [];
  readonly asked: ErasureRecord['asked'];
  private readonly context: RunContext;
  private readonly engine: Engine;
  private readonly sought: Sought;
  private readonly options: EraseOptions;
  private readonly scopes: ReadonlyMap<string, MaskScope>;

  private constructor(context: RunContext, engine: Engine, sought: Sought, options: EraseOptions) {
    this.context = context;
    this.engine = engine;
    this.sought = sought;
    this.options = options;
    this.scopes = scopesOf(context.pipelines);
    this.asked = { sub_ids: sought.subIds.length, orders: sought.orders.length, items: sought.items.length };
  }

  static async begin(
    context: RunContext,
    engine: Engine,
    request: EraseRequest,
    options: EraseOptions,
  ): Promise<Erasing> {
    const known = await Erasures.read(context.state.db);
    const subIds = [...new Set(request.subIds)];
    const orders = [...new Set(request.orders)];
    const items = await itemsInLake(context, engine, orders);
    const { erasures, values } = known.with(subIds, orders, items);
    const found = values.flatMap(({ kind, text }) => (kind === 'order-item-id' ? [text] : []));
    return new Erasing(context, engine, { erasures, subIds, orders, items: found }, options);
  }

  async carryOut(): Promise<ErasedCounts> {
    const { context, sought } = this;
    const { step, isDryRun } = this.options;
    const lake = await this.respellLake();
    await step('lake', 'committed');
    const { answers, others, hashes } = await this.redactRawStore();
    if (!isDryRun) await renameAnswers(context.state, hashes);
    const work: FileWork = {
      context,
      erasures: sought.erasures,
      masker: this.maskerOf(pushMessages.name),
      isDryRun,
    };
    // What a receiver at work writes just now is masked when the next run takes it in.
    const inbox = await maskInbox(work);
    await step('inbox', 'masked');
    const targets = await this.eraseTargets({ digests: lake.digests, fetches: await this.maskedFetches() });
    const asked = await maskAsked(context, this.scopes, sought.erasures, isDryRun);
    const held = await maskCheckHolds(work, lake.digests);
    const rows = await maskState(context, sought.erasures, isDryRun);
    const records = asked + held + rows;
    if (!isDryRun) {
      await dropLeftovers(context, this.options.folder);
      await followLake(context, this.engine);
      await context.openLake?.forget(this.engine);
      await context.state.compact();
    }
    await step('records', 'masked');
    return { slices: lake.slices, lake: lake.values, answers, files: others + inbox + records, targets };
  }

  private async respellLake(): Promise<LakeErasure> {
    const { context, engine, scopes, sought } = this;
    const { folder, step, isDryRun } = this.options;
    const lake = await respellLake(context, engine, scopes, sought, isDryRun ? null : path.join(folder, 'lake'));
    this.errors.push(...lake.errors.map((error) => this.silenced(error)));
    if (isDryRun) return lake;
    await keepReleased(context, lake.digests);
    await sought.erasures.save(context.state);
    await step('listed', 'list');
    await context.lake.commit(lake.changes);
    return lake;
  }

  private async redactRawStore() {
    const { context, sought, scopes } = this;
    const { step, isDryRun } = this.options;
    const hashes = new Map<string, string>();
    let [answers, others] = [0, 0];
    for (const pipeline of context.pipelines.filter((one) => isNamed(one) && scopes.has(one.name))) {
      const found = await redactRaw({
        context,
        erasures: sought.erasures,
        pipeline: pipeline.name,
        scope: scopes.get(pipeline.name)!,
        runId: this.options.runId,
        masker: this.maskerOf(pipeline.name)!,
        at: isoTime(context.clock.now()),
        scratch: this.scratch(),
        isDryRun,
        step: (about) => step('raw', about),
      });
      answers += found.answers;
      others += found.others;
      for (const [old, anew] of found.hashes) hashes.set(old, anew);
      this.errors.push(...found.errors.map((error) => this.silenced(error)));
    }
    return { answers, others, hashes };
  }

  private async maskedFetches(): Promise<FetchRecord[]> {
    const { context, scopes } = this;
    const found: FetchRecord[] = [];
    for (const pipeline of context.pipelines.filter((one) => isNamed(one) && scopes.has(one.name)))
      for await (const fetch of context.raw.fetches(pipeline.name))
        if (fetch.notes?.erased_at || wasMoved(fetch)) found.push(fetch);
    return found;
  }

  private async eraseTargets(renamed: Renamed): Promise<Record<string, number | null>> {
    const { context, scopes, sought, options } = this;
    const tables = erasedTables(context.pipelines, scopes, sought, renamed);
    const found: Record<string, number | null> = {};
    for (const target of context.targets) {
      await options.step('target', target.name);
      try {
        found[target.name] = await target.erase({ tables, isDryRun: options.isDryRun });
      } catch (thrown) {
        found[target.name] = null;
        this.errors.push(this.silenced(asEtlError(thrown).about({ target: target.name })));
      }
    }
    return found;
  }

  private maskerOf(pipeline: string): ErasureMasker | null {
    const scope = this.scopes.get(pipeline);
    return scope ? new ErasureMasker(this.sought.erasures, scope) : null;
  }

  private scratch(): string {
    return path.join(this.options.folder, 'masked');
  }

  /** The error without values in its words. */
  unnamed(error: EtlError): EtlError {
    const message = maskText(this.sought.erasures, error.message);
    const { concern, hint } = error;
    return message === error.message
      ? error
      : new EtlError(error.kind, error.code, message, { concern, ...(hint ? { hint } : {}) });
  }

  /** An error that cites no value: an engine's message may hold the statement. */
  silenced(error: EtlError): EtlError {
    const { target, pipeline, file } = error.concern;
    const what = target ?? file ?? pipeline ?? 'this installation';
    return new EtlError(
      'failed',
      'not_erased',
      `${what}: not erased: ${maskText(this.sought.erasures, error.message)}`,
      {
        concern: error.concern,
        hint: `${error.hint ?? 'see the message'}; then run the same command again`,
      },
    );
  }
}
