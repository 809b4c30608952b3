/** All causes for alerts, as they stand now. Reads the state and files under the home directory; calls nobody. */
import { pushMessages } from '../../../pipelines/push-messages.ts';
import { subscriptions } from '../../../pipelines/subscriptions.ts';
import type { AlertSettings } from '../../config/alerts.ts';
import { type Clock, isoTime } from '../../core/clock.ts';
import { addDays, type Day, daysBetween } from '../../core/days.ts';
import { isNamed, type Pipeline } from '../../core/pipeline.ts';
import type { PlanSettings } from '../../core/plan.ts';
import type { DriftRecord } from '../../core/records.ts';
import { foreignText } from '../../core/redact.ts';
import { readCircuit } from '../../partner/token/circuit.ts';
import { inboxSize } from '../../store/tables/inbox.ts';
import { driftAfter } from '../../store/tables/runs.ts';
import { fixOn } from '../../warehouse/checks/checks.ts';
import type { HoldRecord } from '../../warehouse/target.ts';
import { type RunContext, settingsOf } from '../context.ts';
import { credentialPairs } from '../partners.ts';
import { standingHolds } from '../publish/publish.ts';
import { readListed } from '../sources/list.ts';
import type { Cause } from './cause.ts';
import { judgeRuns, refusedCause, type Unstarted } from './run-causes.ts';

/** What was known when it was looked last. */
export interface KnownBefore {
  readonly unstarted: readonly Unstarted[];
  /** The newest run whose drift was looked at; null: none. */
  readonly driftUntil: string | null;
}

export interface CausesNow extends KnownBefore {
  readonly causes: readonly Cause[];
}

type CheckedOn = NonNullable<DriftRecord['check']>;
type Wanted = Pick<AlertSettings, 'causes' | 'freshness' | 'pushDays'>;

const HOUR_MS = 3_600_000;
/** Of a field's name, which is the service's. */
const FIELD_CHARS = 80;
const FIX_CHARS = 400;
/** Days of one check that are listed one by one. */
const MOST_DAYS = 10;
/** A whole history is looked through but once, and the newest of it says enough. */
const MOST_RUNS = 100;
const CHECK = 'check:';
/** Of a check whose rows name no field. */
const NO_FIELD = 'slice_day';

/** What stands now, of the kinds that are wanted; of drift, what runs saw since `before`. */
export async function causesNow(context: RunContext, wanted: Wanted, before: KnownBefore): Promise<CausesNow> {
  const { causes: kinds } = wanted;
  const watched = context.pipelines.filter((p) => isNamed(p) && context.isEnabled(p));
  const names = watched.map(({ name }) => name);
  const { causes: failed, wellMs, unstarted } = await judgeRuns(context, names, before.unstarted);
  const drift = await driftCauses(context, before.driftUntil);
  const found: Cause[] = [
    ...failed.filter(({ kind }) => (kind === 'refused' ? kinds.refused : kinds.runFailed)),
    ...(kinds.refused ? await circuitCauses(context) : []),
    ...(kinds.sliceHeld ? (await standingHolds(context)).map(heldCause) : []),
    ...(kinds.freshnessBreached ? await lateCauses(context, watched, wanted.freshness, wellMs) : []),
    ...(kinds.pushMissing && wanted.pushDays !== null ? await pushCauses(context, wanted.pushDays) : []),
    ...(kinds.driftSeen ? drift.causes : []),
  ];
  // A refused run and the circuit that it opened are one cause; so is drift of several runs.
  const causes = new Map<string, Cause>();
  for (const cause of found) {
    const known = causes.get(cause.key);
    causes.set(cause.key, known && known.since <= cause.since ? known : cause);
  }
  return { causes: [...causes.values()], unstarted, driftUntil: drift.until };
}

/** Without credentials nobody can be refused. */
async function circuitCauses(context: RunContext): Promise<Cause[]> {
  const { clock, state } = context;
  const causes: Cause[] = [];
  for (const { settings } of credentialPairs(context).values()) {
    const { refusal } = await readCircuit(state.db, settings, clock.now());
    if (refusal) causes.push(refusedCause(refusal.code, isoTime(refusal.atMs)));
  }
  return causes;
}

function heldCause(hold: HoldRecord): Cause {
  const { pipeline, slice_day: day, reason, rows, rows_before: before, held_at: since } = hold;
  const why =
    'check' in hold ? `it breaks the check ${String(hold.check)}` : `${rows} rows, ${before} before (${reason})`;
  const fix = 'fix' in hold ? `${String(hold.fix)}; ` : '';
  return {
    key: `held/${pipeline}/${day}`,
    kind: 'slice_held',
    what: `${pipeline} ${day} is held: ${why}`,
    since,
    means: 'the warehouse keeps what it had of that day; every run looks at it again',
    look: `partner-etl explain ${pipeline} ${day}`,
    fix: `${fix}if it is right after all: partner-etl release ${pipeline} ${day}`,
  };
}

async function lateCauses(
  context: RunContext,
  watched: readonly Pipeline[],
  limits: Wanted['freshness'],
  wellMs: ReadonlyMap<string, number>,
): Promise<Cause[]> {
  const causes: Cause[] = [];
  for (const { pipeline: name, hours: mostHours } of limits) {
    const pipeline = watched.find((p) => p.name === name);
    if (!pipeline) continue;
    const late = pipeline.source.isByRange ? await reportLate(context, pipeline) : runLate(context, wellMs.get(name));
    if (late === null || late.hours <= mostHours) continue;
    causes.push({
      key: `late/${name}`,
      kind: 'freshness_breached',
      what: `${name} is late: ${late.what}; ${mostHours} hours are allowed`,
      since: isoTime(context.clock.now() - (late.hours - mostHours) * HOUR_MS),
      means: 'numbers of the newest days are missing or old; older days are as they were',
      look: 'partner-etl status',
      fix: `partner-etl run ${name}`,
    });
  }
  return causes;
}

interface Late {
  readonly hours: number;
  readonly what: string;
}

/** Hours since the first missing day could be asked for. null: nothing was ever loaded, so nobody waits for it yet. */
async function reportLate(context: RunContext, pipeline: Pipeline): Promise<Late | null> {
  const newest = [...(await context.lake.slices(pipeline.name)).keys()].at(-1);
  if (newest === undefined) return null;
  const behind = daysBetween(newest, addDays(context.today, -settingsOf<PlanSettings>(context, pipeline).lagDays));
  if (behind < 1) return null;
  const hours = (behind - 1) * 24 + hoursOfDay(context);
  return {
    hours,
    what: `the newest day is ${newest}, and ${addDays(newest, 1)} could be asked for ${whole(hours)} ago`,
  };
}

function runLate({ clock }: RunContext, lastMs: number | undefined): Late | null {
  if (lastMs === undefined) return null;
  const hours = (clock.now() - lastMs) / HOUR_MS;
  return { hours, what: `its last run that went well was ${whole(hours)} ago` };
}

function whole(hours: number): string {
  return `${Math.floor(hours)} hours`;
}

/** Hours on the service's clock since its midnight. */
function hoursOfDay({ clock, timeZone }: { readonly clock: Clock; readonly timeZone: string }): number {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const [hours = 0, minutes = 0] = format.format(new Date(clock.now())).split(':').map(Number);
  return hours + minutes / 60;
}

async function pushCauses(context: RunContext, mostDays: number): Promise<Cause[]> {
  if (((await readListed(context, subscriptions))?.listed ?? 0) === 0) return [];
  if ((await inboxSize(context.state.db)).messages > 0) return [];
  const last = [...(await context.lake.slices(pushMessages.name)).keys()].at(-1);
  const from: Day | undefined = last ?? [...(await context.lake.slices(subscriptions.name)).keys()][0];
  if (from === undefined) return [];
  const days = daysBetween(from, context.today);
  if (days <= mostDays) return [];
  return [
    {
      key: 'push/missing',
      kind: 'push_missing',
      what: last
        ? `no push message came since ${from}, ${days} days ago`
        : `no push message ever came, for ${days} days`,
      since: `${addDays(from, mostDays + 1)}T00:00:00.000Z`,
      means: 'the subscription, the way to the receiver, or the receiver may be broken',
      look: 'partner-etl doctor --online',
      fix: 'partner-etl subscriptions test',
    },
  ];
}

async function driftCauses(
  context: RunContext,
  after: string | null,
): Promise<{ readonly causes: Cause[]; readonly until: string | null }> {
  const causes: Cause[] = [];
  let until = after;
  for (const { runId, startedAt, drift } of await driftAfter(context.state.db, after, MOST_RUNS)) {
    until = runId;
    for (const one of drift)
      causes.push(
        ...(one.check ? checkCauses(one, one.check) : [driftCause(one)]).map((cause) => ({
          ...cause,
          since: startedAt,
        })),
      );
  }
  return { causes, until };
}

type DriftCause = Omit<Cause, 'since'>;

function driftCause({ pipeline, kind, field }: DriftRecord): DriftCause {
  const shown = foreignText(field, [], FIELD_CHARS);
  return {
    key: `drift/${pipeline}/${kind}/${shown}`,
    kind: 'drift_seen',
    what: `${pipeline}: ${kind} "${shown}" was seen`,
    means: 'the service answered in a shape that is not known here; rows are loaded as far as they can be read',
    look: 'partner-etl status',
    fix: 'see whether the numbers are still what they were; what is not known lies in the column extra',
  };
}

/** What a check finds on one day says nothing of another one: each is a cause of its own, unless they are too many. */
function checkCauses({ pipeline, kind, field }: DriftRecord, { days, fix }: CheckedOn): DriftCause[] {
  const shown = foreignText(field, [], FIELD_CHARS);
  const about = `the check ${kind.slice(CHECK.length)} found something${field === NO_FIELD ? '' : ` in ${shown}`}`;
  const cause = (when: string, what: string, day: Day): DriftCause => ({
    key: `drift/${pipeline}/${kind}/${shown}/${when}`,
    kind: 'drift_seen',
    what: `${what}: ${about}`,
    means: 'a check that warns; the slice is published all the same',
    look: `partner-etl explain ${pipeline} ${day}`,
    fix: foreignText(fixOn(fix, day), [], FIX_CHARS),
  });
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return [];
  if (days.length <= MOST_DAYS) return days.map((day) => cause(day, `${pipeline} ${day}`, day));
  return [cause(`${first}..${last}`, `${pipeline} ${first}..${last}, ${days.length} days`, first)];
}
