/**
 * Everything that the page shows, read from what the installation keeps: records, lake, token, warehouses. It writes nothing, holds
 * nothing open, and reads the dear parts again only when one of the places has changed in which runs leave their traces.
 */
import { isoTime } from '../../../core/clock.ts';
import type { Day } from '../../../core/days.ts';
import type { ControlSums } from '../../../core/records.ts';
import { redact } from '../../../core/redact.ts';
import { Lake } from '../../../lake/lake.ts';
import type { TokenSource } from '../../../partner/token/token.ts';
import type { RunContext } from '../../../run/context.ts';
import { type Explanation, explain } from '../../../run/status/explain.ts';
import { statusOf } from '../../../run/status/status.ts';
import { inboxSize } from '../../../store/tables/inbox.ts';
import { runsStamp } from '../../../store/tables/runs.ts';
import { countCommits } from '../../../store/tables/slices.ts';
import type { Health } from '../../health.ts';
import { stampOf } from '../../stamp.ts';
import type { MoneyDay, PageModel, TokenState } from '../model.ts';
import { calendarRow } from './calendar.ts';
import { pushDays } from './pushes.ts';
import { RejectGroups } from './rejects.ts';
import { Remembered } from './remembered.ts';
import { RunRows } from './runs.ts';
import { type WarehouseParts, warehouseParts } from './warehouse.ts';

export interface PageSourcesOptions {
  readonly context: RunContext;
  /** Asked each time: `serve` lives longer than a day. */
  readonly today: () => Day;
  readonly health: () => Health;
  /** Pairs of credentials, by name. */
  readonly tokens: ReadonlyMap<string, Pick<TokenSource, 'state'>>;
  /** Values that must appear nowhere. */
  readonly secrets: readonly string[];
}

/** What is read again only when something has changed. */
type SlowParts = Omit<PageModel, 'made_at' | 'today' | 'health' | 'tokens' | 'runs'>;

const FRESH_MS = 3_000;
const PATIENCE_MS = 3_000;
/** A warehouse that went away leaves no trace on the disk. */
const LONGEST_KEPT_MS = 60_000;

export class PageSources {
  private readonly options: PageSourcesOptions;
  private readonly lake: Lake;
  private readonly model: Remembered<PageModel>;
  private readonly runs = new RunRows();
  private readonly rejects = new RejectGroups();
  private slow: { readonly stamp: string; readonly readMs: number; readonly parts: SlowParts } | null = null;
  private asked: { readonly stamp: string; readonly parts: WarehouseParts } | null = null;
  /** The page of a day is read one at a time: an old day has years of records behind it. */
  private explaining: Promise<unknown> = Promise.resolve();

  constructor(options: PageSourcesOptions) {
    this.options = options;
    const { paths, clock, state, pipelines } = options.context;
    this.lake = new Lake({ root: paths.root, state, pipelines });
    this.model = new Remembered({ make: () => this.make(), clock, freshMs: FRESH_MS, patienceMs: PATIENCE_MS });
  }

  /** At most some seconds old, unless a warehouse keeps us waiting: `made_at` says. */
  readPage(): Promise<PageModel> {
    return this.model.read();
  }

  /** What `explain` says of the day. Errors: `usage/no_pipeline`. */
  readCell(pipeline: string, day: Day): Promise<Explanation> {
    const found = this.explaining.then(() => explain(this.context(), pipeline, day));
    this.explaining = found.catch(() => undefined);
    return found.then((explanation) => withoutSecrets(explanation, this.options.secrets));
  }

  /** Something was done: what was read before is old, whatever the places say. */
  forget(): void {
    this.slow = null;
    this.asked = null;
    this.model.forget();
  }

  /** Of now, with a lake of our own: what runs write must be read again. */
  private context(): RunContext {
    const { context, today } = this.options;
    this.lake.reread();
    return { ...context, lake: this.lake, today: today() };
  }

  private async make(): Promise<PageModel> {
    const context = this.context();
    const { clock, today } = context;
    const madeMs = clock.now();
    const stamp = await traces(context);
    const { slow } = this;
    const isKept = slow?.stamp === stamp && madeMs - slow.readMs < LONGEST_KEPT_MS;
    const parts = isKept ? slow.parts : await this.read(context, stamp);
    if (!isKept) this.slow = { stamp, readMs: madeMs, parts };
    const runs = withoutSecrets(await this.runs.read(context), this.options.secrets);
    const tokens = await this.tokens();
    return { made_at: isoTime(madeMs), today, health: this.options.health(), ...parts, runs, tokens };
  }

  private async read(context: RunContext, stamp: string): Promise<SlowParts> {
    const status = await statusOf(context);
    const { driftedDays, ...warehouse } = await this.ask(context, stamp, status.drift);
    const pipelines = [];
    for (const one of status.pipelines)
      pipelines.push(
        calendarRow(one, await context.lake.slices(one.pipeline), driftedDays.get(one.pipeline) ?? NO_DAYS),
      );
    const model = {
      targets: status.targets,
      holds: status.holds,
      rejects: await this.rejects.of(context),
      ...warehouse,
    };
    return {
      pipelines,
      money: await moneyDays(context),
      pushes: await pushDays(context),
      inbox: status.pipelines.find(({ inbox }) => inbox)?.inbox ?? null,
      ...withoutSecrets(model, this.options.secrets),
    };
  }

  /** A warehouse is asked again when a run has been at work, or when it could not be asked. */
  private async ask(context: RunContext, stamp: string, seen: PageModel['drift']): Promise<WarehouseParts> {
    const known = this.asked;
    if (known?.stamp === stamp && known.parts.reconciliation !== null) return known.parts;
    const parts = await warehouseParts(context, seen);
    this.asked = { stamp, parts };
    return parts;
  }

  private async tokens(): Promise<TokenState[]> {
    const states: TokenState[] = [];
    for (const [credentials, source] of this.options.tokens) {
      const { expiresAt, requestsLastHour, mostPerHour, notBefore } = await source.state();
      states.push({
        credentials,
        valid_until: expiresAt,
        requests_last_hour: requestsLastHour,
        most_per_hour: mostPerHour,
        blocked_until: notBefore,
      });
    }
    return states;
  }
}

const NO_DAYS: ReadonlySet<Day> = new Set();

/** Runs, messages and commits of the lake are counted; everything else is replaced by renaming: the folders show that. */
async function traces({ paths, state, today }: RunContext): Promise<string> {
  const places = [paths.warehouse, `${paths.inbox}/refused`];
  const { messages } = await inboxSize(state.db);
  return `${today} ${messages}\n${await runsStamp(state.db)}\n${await countCommits(state.db)}\n${await stampOf(places)}`;
}

/** The control sums of the commissions report, oldest day first. */
async function moneyDays({ pipelines, lake }: RunContext): Promise<MoneyDay[]> {
  const source = pipelines.find(({ table }) => table === 'fact_commission_day');
  if (!source) return [];
  const sum = (sums: ControlSums, column: string) => sums[column] ?? '0';
  return [...(await lake.slices(source.name))].map(
    ([
      day,
      {
        content: { sums },
      },
    ]) => ({
      day,
      revenue: sum(sums, 'revenue_original_excl_vat'),
      commission: sum(sums, 'commission_original'),
      commission_approved: sum(sums, 'commission_approved'),
      commission_open: sum(sums, 'commission_open'),
    }),
  );
}

/** The value with secrets taken out of every text in it: what the service sent, and what errors say, may hold anything. */
function withoutSecrets<T>(value: T, secrets: readonly string[]): T {
  if (typeof value === 'string') return redact(value, secrets) as T;
  if (Array.isArray(value)) return value.map((part) => withoutSecrets(part, secrets)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withoutSecrets(part, secrets)])) as T;
}
