/** Opens everything that a command works with, from settings, and closes it again. The only place that wires stages together. */
import { mkdir } from 'node:fs/promises';
import { type Config, requirePartner, timingOf, todayOf } from './config.ts';
import { type Clock, systemClock } from './core/clock.ts';
import { EtlError } from './core/errors.ts';
import { type Log, logWith } from './core/log.ts';
import type { Progress } from './core/progress.ts';
import type { FetchRecord } from './core/records.ts';
import { noTracer, type Tracer } from './core/tracer.ts';
import { type EngineSize, engineSize } from './engine/size.ts';
import { openMasking } from './extras/masking/masking.ts';
import { OpenLake } from './lake/delta/open-lake.ts';
import { Lake } from './lake/lake.ts';
import { PartnerClient } from './partner/client.ts';
import { Pacing } from './partner/pacing/pacing.ts';
import type { Area } from './partner/settings.ts';
import { CachedTokenSource } from './partner/token/token.ts';
import type { Partner, RunContext, Step } from './run/context.ts';
import { demandOneTime, locksOf, openState } from './store/open.ts';
import { FolderPlace } from './store/raw/folder.ts';
import { RawStore } from './store/raw/raw.ts';
import type { State } from './store/state.ts';
import { installationOf } from './store/tables/installation.ts';
import { openDuckdbTarget } from './warehouse/duckdb/target.ts';
import { openDucklakeTarget } from './warehouse/ducklake/target.ts';
import { openPostgresTarget } from './warehouse/postgres/target.ts';
import type { Target } from './warehouse/target.ts';

/** What the app needs of the world. */
export interface Surroundings {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly progress: Progress;
  /** Absent: nobody collects what work consists of. */
  readonly tracer?: Tracer;
  readonly signal: AbortSignal;
  readonly step?: (name: Step, about: string) => void | Promise<void>;
}

export interface App {
  readonly context: RunContext;
  close(): Promise<void>;
}

export async function openApp(world: Surroundings): Promise<App> {
  const { config, clock } = world;
  const paths = config.home;
  await makeHome(paths.root);
  const place = { url: config.stateUrl, home: paths };
  const state = await openState(place);
  if (clock === systemClock) await demandOneTime(state, place, clock);
  const engine = engineSize(config.engine);
  const targets = openTargets(config, engine, clock, () => installationOf(state, clock));
  const pacing = new Pacing({
    state,
    clock,
    log: world.log,
    onWait: (wait) => world.progress.wait(wait),
  });
  const masking = openMasking(state.db, config.declared);
  const lake = new Lake({ root: paths.root, state, pipelines: config.declared });
  const context: RunContext = {
    paths,
    timeZone: config.timeZone,
    engine,
    today: todayOf(config, clock),
    guard: config.guards.shrink,
    retention: config.retention,
    pipelines: config.declared,
    isEnabled: ({ name }) => timingOf(config, name)?.enabled ?? false,
    settings: config.pipelines,
    calls: config.calls,
    eans: config.eans,
    targets,
    state,
    locks: locksOf(place, state, clock),
    raw: new RawStore({
      state,
      place: new FolderPlace(paths.root),
      warn: (message, fields) => world.log.warn(message, fields),
      masking,
    }),
    masking,
    lake,
    openLake: config.lake.delta
      ? new OpenLake({ root: paths.delta, lake, clock, pipelines: config.declared, days: config.lake.deltaDays })
      : null,
    extensions: config.engine.extensions,
    clock,
    log: world.log,
    progress: world.progress,
    tracer: world.tracer ?? noTracer,
    signal: world.signal,
    step: world.step ?? (() => undefined),
    partnerSettings: (area) => requirePartner(config, area),
    budgetWaits: () => pacing.waits(),
    openClient: (area, runId, onFetch) => openPartner(world, { state, pacing }, area, runId, onFetch),
  };
  const closeState = async () => {
    await pacing.close();
    await state.close();
  };
  return { context, close: async () => void (await Promise.all([closeState(), ...targets.map((t) => t.close())])) };
}

async function makeHome(root: string): Promise<void> {
  try {
    await mkdir(root, { recursive: true });
  } catch (cause) {
    throw new EtlError('usage', 'home', `the home directory ${root} cannot be made`, {
      cause,
      hint: 'set PARTNER_ETL_HOME to a folder that this user may write to',
    });
  }
}

function openTargets(config: Config, engine: EngineSize, clock: Clock, installation: () => Promise<string>): Target[] {
  const workDir = config.home.work;
  const targets: Target[] = [];
  const shared = {
    workDir,
    engine,
    clock,
    pipelines: config.declared,
    settings: { subIdGrammar: config.subIds.grammar },
  };
  if (config.targets.duckdb) targets.push(openDuckdbTarget({ file: config.home.warehouse, ...shared }));
  // The DuckDB file lies in the home, whose locks keep others out.
  const settings = { ...shared.settings, installation };
  const { postgresUrl, ducklake } = config.targets;
  if (postgresUrl) targets.push(openPostgresTarget({ ...shared, url: postgresUrl, settings }));
  if (ducklake) targets.push(openDucklakeTarget({ ...shared, at: ducklake, settings }));
  return targets;
}

async function openPartner(
  { config, clock, random, log, tracer = noTracer }: Surroundings,
  { state, pacing }: { readonly state: State; readonly pacing: Pacing },
  area: Area,
  runId: string,
  onFetch: (record: FetchRecord) => Promise<void>,
): Promise<Partner> {
  const settings = requirePartner(config, area);
  const token = new CachedTokenSource({ settings, state, clock, random, log: logWith(log, { run: runId }) });
  const client = new PartnerClient({ settings, token, pacing, clock, random, log, tracer, runId, onFetch });
  return { client, settings };
}
