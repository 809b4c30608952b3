/** Carries a scenario out against the real program, and holds what it leaves against the model and the invariants. */
import { rmSync } from 'node:fs';
import { carryOut, dayOf, type Gone } from './changes.ts';
import { byDay, countFlaws, difference, hasteFlaws, REPORTS, type Report, receiptFlaws, toldRow } from './checks.ts';
import { Crew, died } from './crew.ts';
import { HistoryModel } from './history-model.ts';
import { LookupModel } from './lookup-model.ts';
import { type Asked, Model, type Truth } from './model.ts';
import type { Ended, Work } from './orders.ts';
import { DAY_MS, FIRST_MS, GUARD, type Place, subscribe } from './place.ts';
import { cutPower, diedAt } from './power-cut.ts';
import type { Outcome, Processes } from './processes.ts';
import { pushFlaws } from './push-model.ts';
import { Random } from './random.ts';
import { LOOKBACK_DAYS, type PlannedDay, type PlannedRun, refusalsOfTokens, type Scenario } from './scenario.ts';
import { fingerprint, stampsOf } from './stamps.ts';
import { Readers, watchPostgres } from './warehouse-reader.ts';

/** What a seed came to. */
export interface Result {
  readonly seed: number;
  /** What happened, in words. Lines that begin with `~` may read otherwise the next time. */
  readonly journal: readonly string[];
  readonly flaws: readonly string[];
  readonly nights: number;
  /** How often each kind of thing happened. */
  readonly kinds: ReadonlyMap<string, number>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** So far back the world is looked at. */
const FIRST_DAY_MS = FIRST_MS - 8 * DAY_MS;
/** Every Retry-After of a scenario is at least so long. */
const LEAST_RETRY_AFTER_MS = 20_000;
const MOST_FLAWS = 12;
const NIGHT: Work = { kind: 'night', names: [] };

export class Simulation {
  private readonly scenario: Scenario;
  private readonly place: Place;
  private readonly crew: Crew;
  private readonly readers: Readers;
  private readonly journal: string[] = [];
  private readonly flaws: string[] = [];
  private readonly kinds = new Map<string, number>();
  private readonly reports: readonly Report[];
  private readonly models: ReadonlyMap<string, Model>;
  private readonly lookups: LookupModel | null;
  private readonly history = new HistoryModel();
  private readonly gone: Gone = new Set();
  private todayMs = FIRST_MS;
  /** The first night that ended well; from its lookback on no day may be missing. */
  private firstGoodMs: number | null = null;

  constructor(scenario: Scenario, place: Place, processes: Processes) {
    this.scenario = scenario;
    this.place = place;
    this.crew = new Crew(scenario.seed, place, processes);
    this.readers = new Readers(place.warehouse, place.postgresUrl);
    this.reports = REPORTS.filter(({ report }) => scenario.reports.includes(report));
    this.models = new Map(this.reports.map(({ report, key }) => [report, new Model(GUARD, key)]));
    this.lookups = scenario.hasLookups ? new LookupModel(place) : null;
  }

  async run(): Promise<Result> {
    try {
      if (this.scenario.hasPushes) await subscribe(this.place);
      for (const [i, day] of this.scenario.days.entries()) if (this.flaws.length === 0) await this.liveDay(i, day);
      if (this.flaws.length === 0) await this.goQuiet();
    } catch (error) {
      // Such as a warehouse that cannot be opened any more.
      this.flaws.push(`it could not go on: ${error instanceof Error ? error.stack : error}`);
    } finally {
      await this.readers.close();
    }
    const { journal, flaws, kinds } = this;
    return { seed: this.scenario.seed, journal, flaws: flaws.slice(0, MOST_FLAWS), nights: this.crew.nights, kinds };
  }

  private count(kind: string): void {
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1);
  }

  private say(line: string): void {
    this.journal.push(line.trimEnd());
  }

  private pass(ms: number): void {
    this.place.clock.reach(this.place.clock.now() + ms);
  }

  private beginDay(day: number): void {
    this.todayMs = FIRST_MS + day * DAY_MS;
    this.place.clock.reach(this.todayMs);
    this.say(`-- ${dayOf(this.todayMs)}`);
  }

  private async liveDay(index: number, { changes, faults, runs }: PlannedDay): Promise<void> {
    this.beginDay(index);
    for (const fault of faults) {
      this.count(`fault ${fault.kind} ${fault.status ?? ''}`.trimEnd());
      this.say(`fault ${JSON.stringify(fault)}`);
      this.place.sandbox.addFault(fault as never);
    }
    for (const [place, run] of runs.entries()) {
      for (const change of changes.filter((_, i) => i % runs.length === place)) {
        this.count(change.kind);
        this.say(carryOut(this.place, change, this.todayMs, this.gone));
      }
      await this.liveRun(run);
      this.pass(HOUR_MS);
    }
    this.place.sandbox.clearFaults();
  }

  private async liveRun(run: PlannedRun): Promise<void> {
    const { kind, aim, isPowerCut, receiver } = run;
    const dying = aim ? `, to die at ${aim.kind} ${aim.at}` : '';
    this.say(`run: ${kind}${dying}${isPowerCut ? ', power cut' : ''}${receiver ? ', pushes meanwhile' : ''}`);
    this.place.sandbox.stats.reset();
    const watched = await this.readers.open();
    const before = watched && (await fingerprint(watched));
    const { postgresUrl } = this.place;
    const committed = watched && postgresUrl !== null ? watchPostgres(postgresUrl) : null;
    const receiving = receiver && this.crew.receive(receiver.aim);
    await receiving?.isUp;
    const work = this.workOf(run);
    const apart = kind === 'night beside backfill' ? work.map((one) => [one]) : [work];
    const begun = apart.map((some, i) => this.crew.order(some, i === 0 ? aim : null, i === 0 ? 'a' : 'b'));
    if (receiving) await this.deliver();
    const outcomes = await Promise.all(begun);
    const powerIsCut = isPowerCut && (aim === null || outcomes[0]?.kind === 'died');
    const received = await receiving?.stop(powerIsCut);
    if (received) this.count(received.kind === 'died' ? 'receiver died' : 'receiver ended');
    if (watched && (await fingerprint(watched)) !== before) this.flaws.push('a reader of the warehouse saw it change');
    await watched?.close();
    this.flaws.push(...((await committed?.stop()) ?? []));
    for (const outcome of outcomes) this.tell(outcome, run);
    if (powerIsCut) this.losePower();
    rmSync(this.place.notes, { force: true });
    const ended = outcomes.flatMap((one, i) => (one.kind === 'done' ? one.ended : died(apart[i]!)));
    await this.learn(work, ended);
    await this.compare(outcomes.some((one) => one.kind === 'died'));
  }

  private workOf({ kind, backfill }: PlannedRun): Work[] {
    const at = (ago: number) => dayOf(this.todayMs - ago * DAY_MS);
    const { from, to, refetch } = backfill;
    const past: Work = { kind: 'backfill', names: [], from: at(from), to: at(to), refetch };
    return kind === 'night' ? [NIGHT] : kind === 'backfill' ? [past] : [NIGHT, past];
  }

  private async deliver(): Promise<void> {
    const { sandbox } = this.place;
    sandbox.change({ kind: 'push-order', order: 'random' });
    sandbox.change({ kind: 'shipment', count: 3 });
    await sandbox.deliverDue({ concurrency: 3 });
  }

  private tell(outcome: Outcome, { kind, receiver, aim }: PlannedRun): void {
    const isExact = kind !== 'night beside backfill' && !receiver && aim?.kind !== 'await' && aim?.kind !== 'request';
    const mark = isExact ? '' : '~ ';
    if (outcome.kind === 'died') {
      this.count(`died at ${aim?.kind ?? 'nothing that was aimed at'}`);
      this.say(`${mark}it dies (${outcome.how}) ${diedAt(this.place.notes)}`);
      if (outcome.how !== 'SIGKILL') this.flaws.push(`a process of the program ended: ${outcome.how}`);
      return;
    }
    for (const { kind: work, exitCode, codes } of outcome.ended)
      this.say(`${mark}${work} ends with ${exitCode} ${codes.join(' ')}`);
  }

  private losePower(): void {
    this.count('power cut');
    const random = new Random(this.scenario.seed, `power ${this.crew.given}`);
    const lost = cutPower(this.place.notes, this.place.home, random);
    this.say(`~ power is cut: ${lost.length > 0 ? `lost ${lost.join(', ')}` : 'nothing is lost'}`);
    if (lost.length > 0) this.count('power cut that lost something');
  }

  /** Tells the models what the runs have seen, and looks at what the service saw of them. */
  private async learn(work: readonly Work[], ended: readonly Ended[]): Promise<void> {
    for (const [i, one] of work.entries()) {
      const { exitCode, codes, messages, isBug } = ended[i]!;
      const isRefused = exitCode === 4 && !this.mayRefuseTwice(codes);
      if (isBug || isRefused || codes.some((code) => NEVER.has(code))) this.flaws.push(...messages);
      if (codes.includes('run')) continue; // another run was at work
      const wentWell = (exitCode === 0 || exitCode === 3) && codes.length === 0;
      for (const { report } of this.reports)
        this.models.get(report)?.run({ truth: this.truth(report), asked: this.askedBy(one, report), wentWell });
      if (one.kind === 'night') await this.lookups?.night(wentWell);
      if (wentWell && one.kind === 'night') this.firstGoodMs ??= this.todayMs;
    }
    for (const lock of this.crew.locksLeft.splice(0))
      this.flaws.push(`a process has ended its work, and still holds ${lock}`);
    const { failures, overBudget } = this.place.sandbox.stats;
    for (const failure of failures) this.flaws.push(`the sandbox itself broke: ${failure}`);
    for (const budget of Object.keys(overBudget)) this.flaws.push(`the budget of ${budget} was exceeded`);
    if (this.crew.expiredTokens > 0) this.flaws.push(`${this.crew.expiredTokens} calls with a token that had expired`);
    this.crew.expiredTokens = 0;
  }

  /** A call is not repeated after the token that was asked for because of it is refused as well: by another fault, or a change. */
  private mayRefuseTwice(codes: readonly string[]): boolean {
    return codes.every((code) => code === 'token_rejected') && refusalsOfTokens(this.scenario) > 1;
  }

  private askedBy(work: Work, report: Report['report']): Asked {
    const states = this.models.get(report)?.days;
    const isMissing = (day: string) => (states?.get(day) ?? [null]).every((state) => state === null);
    if (work.kind === 'backfill')
      return (day) => day >= work.from && day <= work.to && (work.refetch || isMissing(day));
    if (work.kind !== 'night') return () => false;
    const lookback = (ms: number) => dayOf(ms - LOOKBACK_DAYS * DAY_MS);
    const since = lookback(this.firstGoodMs ?? this.todayMs);
    return (day) => day >= lookback(this.todayMs) || (day >= since && isMissing(day));
  }

  /** What the service tells now of every day up to yesterday. */
  private truth(report: Report['report']): Truth {
    const days = new Map<string, string[]>();
    for (let ms = FIRST_DAY_MS; ms < this.todayMs; ms += DAY_MS) {
      const day = dayOf(ms) as never;
      days.set(day, [...this.place.sandbox.truth(report, day, day)].map(toldRow).sort());
    }
    return days;
  }

  /** Every day of every report must be in one of its states, and everything agree with its receipt. */
  private async compare(isAfterDeath = false): Promise<void> {
    const reader = await this.readers.open();
    try {
      for (const { report, table, day } of this.reports) {
        const held = byDay(reader ? await reader.rows(table) : [], day);
        for (const [name, states] of this.models.get(report)?.days ?? []) {
          const flaw = difference(held.get(name) ?? [], states);
          if (flaw) this.flaws.push(`${report} ${name}: ${flaw}`);
          held.delete(name);
        }
        for (const name of held.keys()) this.flaws.push(`${report} ${name}: rows of a day that nobody asked for`);
      }
      if (reader) this.flaws.push(...(await receiptFlaws(reader)), ...((await this.lookups?.flaws(reader)) ?? []));
    } finally {
      await reader?.close();
    }
    this.history.take(
      this.place.clock.now(),
      this.models.get('orders')?.days ?? new Map(),
      this.truth('orders'),
      isAfterDeath,
    );
  }

  // -- in the end ----------------------------------------------------------------------------------------------------

  /** No faults, no deaths: everything must come right, and then nothing happens any more. */
  private async goQuiet(): Promise<void> {
    const { isBrief, days, hasPushes } = this.scenario;
    // Another night of the same day asks for all that the nights before it had to ask for.
    const isNear = isBrief && days.every(({ runs }) => runs.every(({ kind }) => kind === 'night'));
    if (!isNear) this.beginDay(days.length);
    await this.drain();
    const first = isNear ? dayOf(this.todayMs - LOOKBACK_DAYS * DAY_MS) : this.firstDay();
    const last = dayOf(this.todayMs - DAY_MS);
    // The backfill asks for all that the night does, but for what is no report.
    if (isNear || !isBrief || this.lookups || hasPushes) await this.quiet(NIGHT);
    if (!isNear) await this.quiet({ kind: 'backfill', names: [], from: first, to: last, refetch: true });
    await this.releaseAll();
    // Nothing may be either way any more.
    for (const { report } of this.reports)
      for (const [day, told] of this.truth(report)) if (day >= first) this.models.get(report)?.release(day, told);
    this.lookups?.settle();
    await this.compare();
    if (this.flaws.length > 0) return;
    if (this.scenario.losesWarehouse && this.place.postgresUrl === null) await this.loseWarehouse(first, last);
    if (!isBrief) await this.stayQuiet();
    await this.lookBack();
    if (!this.scenario.isVerified) return;
    const { messages } = await this.quiet({ kind: 'verify' });
    this.flaws.push(...messages.map((message) => `verify: ${message}`));
  }

  /** The first day that may be loaded. */
  private firstDay(): string {
    const days = [...this.models.values()].flatMap((model) => [...model.days]);
    const loaded = days.filter(([, states]) => states.some((state) => state !== null)).map(([day]) => day);
    return loaded.sort()[0] ?? dayOf(this.todayMs - DAY_MS);
  }

  /** The service sends what is left, until it gives up or everything has arrived. */
  private async drain(): Promise<void> {
    if (!this.scenario.hasPushes) return;
    const receiving = this.crew.receive(null);
    await receiving.isUp;
    for (let minute = 0; minute < 16; minute++) {
      this.pass(MINUTE_MS);
      await this.place.sandbox.deliverDue({ concurrency: 3 });
    }
    await receiving.stop(false);
  }

  private async quiet(work: Work): Promise<Ended> {
    this.pass(HOUR_MS);
    this.place.sandbox.stats.reset();
    const outcome = await this.crew.order([work], null, 'q', false);
    const ended = outcome.kind === 'done' ? outcome.ended[0]! : died([work])[0]!;
    const { kind, exitCode, codes, messages } = ended;
    this.say(`quiet ${kind} ends with ${exitCode} ${codes.join(' ')}`);
    const isFine = exitCode === 0 || exitCode === 3 || kind === 'verify';
    if (!isFine) this.flaws.push(`a quiet ${kind} failed: ${[...codes, ...messages].join('; ')}`);
    if (kind === 'night' || kind === 'backfill') {
      await this.learn([work], [ended]);
      await this.compare();
    }
    return ended;
  }

  private async releaseAll(): Promise<void> {
    const reader = await this.readers.open();
    const holds = (await reader?.ask('SELECT pipeline, CAST(slice_day AS VARCHAR) AS day FROM etl.hold')) ?? [];
    await reader?.close();
    for (const { pipeline, day } of holds) {
      this.count('hold released');
      if (pipeline === 'orders') this.history.release(day ?? '');
      await this.quiet({ kind: 'release', name: pipeline ?? '', day: day ?? '' });
    }
  }

  /** What lies in the lake is loaded without a call. */
  private async loseWarehouse(from: string, to: string): Promise<void> {
    this.count('warehouse lost');
    rmSync(this.place.warehouse);
    await this.quiet({ kind: 'backfill', names: [], from, to, refetch: false });
    const calls = Object.entries(this.place.sandbox.stats.calls).map(([endpoint, n]) => `${n} of ${endpoint}`);
    if (calls.length > 0) this.flaws.push(`calls were made for what lies in the lake: ${calls.join(', ')}`);
  }

  private async stayQuiet(): Promise<void> {
    const before = await stampsOf(this.place);
    await this.quiet(NIGHT);
    const after = await stampsOf(this.place);
    const names = new Set([...before.keys(), ...after.keys()]);
    const changed = [...names].filter((file) => before.get(file) !== after.get(file));
    if (changed.length > 0) this.flaws.push(`a quiet night wrote ${changed.join(', ')}`);
  }

  /** What the whole must add up to. */
  private async lookBack(): Promise<void> {
    const reader = await this.readers.open();
    if (!reader) return;
    try {
      if (this.models.has('orders')) this.flaws.push(...(await this.history.flaws(reader)));
      const hasMoves = this.scenario.days.some(({ changes }) => changes.some(({ kind }) => kind === 'move-item'));
      this.flaws.push(...(await countFlaws(reader, hasMoves)), ...(await hasteFlaws(reader, LEAST_RETRY_AFTER_MS)));
      if (this.scenario.hasPushes) this.flaws.push(...(await pushFlaws(reader, this.place.sandbox)));
    } finally {
      await reader.close();
    }
  }
}

/** Errors that no fault of the service and no death explains. */
const NEVER = new Set(['unexpected', 'control_sums', 'duplicate_key', 'damaged_state', 'lake_file', 'duckdb_publish']);
