/** Where the rows of a pipeline come from, as its declaration says it. What the kinds of sources do is in src/run/sources. */
import { z } from 'zod';
import { type Day, isDay } from './days.ts';
import { LIMITS } from './limits.ts';
import type { PlanSettings } from './plan.ts';
import {
  type CallSection,
  type CallSettings,
  callBudget,
  callPath,
  mediaType,
  parameter,
  type Section,
  whole,
} from './settings.ts';

/** The parts of the service; each may have a pair of credentials of its own. */
export type Area = 'reports' | 'catalog' | 'retailer';
export const AREAS: readonly Area[] = ['reports', 'catalog', 'retailer'];

/** What is said of every source. */
interface SourceTraits {
  /** Of the service, whose calls fill it; null: nobody is called. */
  readonly area: Area | null;
  /** Asked for by ranges of days, also of the past; else only what holds now is said, or what was pushed. */
  readonly isByRange: boolean;
  /** Comes with push messages, or follows from them: every few minutes or not at all. */
  readonly isPushed: boolean;
  /** Its call, where the settings have one for this pipeline alone. */
  readonly call: CallSection | null;
  /** What the settings say of every pipeline of this kind, besides `enabled` and `schedule`. */
  readonly settings: Section;
}

export type PipelineSource = SourceTraits &
  (
    | { readonly kind: 'window' }
    | { readonly kind: 'keys'; readonly keys: EanKeys | 'processes' | 'links' }
    | { readonly kind: 'file' }
    | { readonly kind: 'list' }
    | { readonly kind: 'inbox' }
    | { readonly kind: 'child'; readonly of: string; readonly records: string | null }
  );

const NO_SETTINGS: Section = { shape: {}, usual: {} };
const NOT_CALLED = { isByRange: false, isPushed: false, call: null, settings: NO_SETTINGS } as const;

/** The call of a report. */
export interface WindowCall extends CallSettings {
  /** Below the service's address; `{version}` is the area's. */
  readonly path: string;
  readonly accept: string;
  readonly startParameter: string;
  readonly endParameter: string;
}

/** What is unusual of a report: where it is, how much of it is allowed, and how it is planned. */
type WindowOptions = Pick<WindowCall, 'path' | 'budget'> &
  Partial<WindowCall> &
  Partial<Pick<PlanSettings, 'lookbackDays' | 'windowDays' | 'lagDays'>>;

/** A report over a range of days: the answer replaces the slices of the range. */
export function window({ lookbackDays = 45, windowDays = 31, lagDays = 1, ...call }: WindowOptions): PipelineSource {
  const usual = { startDay: null, lookbackDays, windowDays, lagDays };
  return {
    kind: 'window',
    area: 'reports',
    isByRange: true,
    isPushed: false,
    call: {
      name: null,
      shape: {
        path: callPath(),
        accept: mediaType(),
        startParameter: parameter(),
        endParameter: parameter(),
        budget: callBudget(),
      },
      usual: { accept: 'application/json', startParameter: 'startDate', endParameter: 'endDate', ...call },
    },
    settings: { shape: planShape(), usual },
  };
}

const planShape = () => ({
  startDay: z.custom<Day | null>((value) => value === null || (typeof value === 'string' && isDay(value)), {
    error: 'a day as yyyy-mm-dd, or null',
  }),
  lookbackDays: whole(1, 3650, 'days'),
  windowDays: whole(1, LIMITS.windowDays, 'days'),
  lagDays: whole(0, 365, 'days'),
});

/** A key that is asked for, by the names of the columns of origin `request`. */
export type Key = Readonly<Record<string, string | null>>;

/** What the settings say of every look-up by EAN. */
export interface LookupSettings {
  /** Calls of one run at the most. */
  readonly callsPerNight: number;
  /** What was asked within so many hours is not asked again. */
  readonly freshHours: number;
  /** Only of those by age: after so many days what was found is asked for again. */
  readonly refreshDays?: number;
}

/** A call about keys. */
export interface KeysRequest {
  readonly path: string;
  /** Fills `{ean}` of the path. */
  readonly ean?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent by POST; such a call changes nothing, so it may be repeated. */
  readonly body?: string;
}

/** Look-ups by the EANs of the settings' list (`eans`). */
export interface EanKeys {
  /**
   * What a key has besides the EAN: nothing (one variant without members), the price and condition that the list gives it, or
   * the members of each variant, in which every EAN is asked for.
   */
  readonly variants: 'listed' | ((settings: unknown) => readonly Key[]);
  /** Of one call at the most; where it is more than one, a refusal of the whole is searched for the keys at fault. */
  readonly keysPerCall: (call: CallSettings) => number;
  readonly request: (keys: readonly Key[], call: CallSettings, settings: unknown) => KeysRequest;
  /** Statuses besides 2xx that are answers. */
  readonly alsoAnswers: readonly number[];
  /** Found ones are asked again after `refreshDays`, missing ones ever more rarely; else all that are not fresh, as listed. */
  readonly isByAge: boolean;
}

/** What `eanKeys` is given; C: the call's settings, S: the pipeline's. */
interface EanOptions<C extends CallSettings, S extends LookupSettings> {
  readonly area: Area;
  readonly call: CallSection<C>;
  readonly settings: Section<S>;
  readonly variants?: 'listed' | ((settings: S) => readonly Key[]);
  readonly keysPerCall?: (call: C) => number;
  readonly request: (keys: readonly Key[], call: C, settings: S) => KeysRequest;
  readonly alsoAnswers: readonly number[];
}

/** Things by EAN, as they are now; a slice holds what was seen to be different on that day. By age where the settings have `refreshDays`. */
export function eanKeys<C extends CallSettings, S extends LookupSettings>(options: EanOptions<C, S>): PipelineSource {
  const { area, call, settings, variants = () => [{}], keysPerCall = () => 1, request, alsoAnswers } = options;
  const isByAge = settings.usual.refreshDays !== undefined;
  // The settings are checked against these very sections before anything is asked.
  const keys: EanKeys = {
    variants: variants === 'listed' ? variants : (given) => variants(given as S),
    keysPerCall: (given) => keysPerCall(given as C),
    request: (asked, ofCall, ofPipeline) => request(asked, ofCall as C, ofPipeline as S),
    alsoAnswers,
    isByAge,
  };
  return { kind: 'keys', area, isByRange: false, isPushed: false, call, settings, keys };
}

const callsPerNight = () => whole(1, 10_000_000, 'calls');

/** The settings of a look-up by EAN, with those of its own. */
export function lookupSettings<S extends object>(usual: LookupSettings, own: Section<S>): Section<LookupSettings & S> {
  const byAge = usual.refreshDays === undefined ? {} : { refreshDays: whole(1, 3650, 'days') };
  return {
    shape: { callsPerNight: callsPerNight(), freshHours: whole(0, 8760, 'hours'), ...byAge, ...own.shape },
    usual: { ...usual, ...own.usual },
  };
}

/** What the settings say of what follows from push messages. */
export interface FollowingSettings {
  /** Calls of one run at the most. */
  readonly callsPerNight: number;
}

/** Processes that were started here or that a push message named; links of push messages. */
export function following(keys: 'processes' | 'links', usual: FollowingSettings): PipelineSource {
  const settings = { shape: { callsPerNight: callsPerNight() }, usual };
  return { ...NOT_CALLED, kind: 'keys', area: 'retailer', isPushed: true, settings, keys };
}

/** A file that replaces the one before; a slice holds what it brought and what it no longer had. */
export function file(area: Area, settings: Section): PipelineSource {
  return { ...NOT_CALLED, kind: 'file', area, settings };
}

/** One call that tells all there are; a slice holds what came, changed and went. */
export function list(area: Area): PipelineSource {
  return { ...NOT_CALLED, kind: 'list', area };
}

/** What was pushed to us and lies in the inbox. */
export function inbox(): PipelineSource {
  return { ...NOT_CALLED, kind: 'inbox', area: null, isPushed: true };
}

/** Rows that come with the answers of another pipeline, its parent; `records`: the member of the parent's records that has them. */
export function childOf(parent: string, records: string | null = null): PipelineSource {
  return { ...NOT_CALLED, kind: 'child', area: null, of: parent, records };
}
