/** `doctor`: checks everything that a run needs and says how to fix it. Asks the service for nothing, unless --online. */

import type { Command } from 'commander';
import { isSentInClear } from '../../config/address.ts';
import type { Config } from '../../config.ts';
import { asEtlError, EXIT } from '../../core/errors.ts';
import { AREAS } from '../../core/source.ts';
import { isThere } from '../../disk/atomic.ts';
import { engineSize } from '../../engine/size.ts';
import type { PartnerSettings } from '../../partner/settings.ts';
import { endBan, pairOf } from '../../partner/token/circuit.ts';
import { CachedTokenSource, type TokenSource, type TokenState } from '../../partner/token/token.ts';
import { announcedReceiver } from '../../serve/receiver/proof.ts';
import { openState } from '../../store/open.ts';
import type { State } from '../../store/state.ts';
import { openDuckdbTarget } from '../../warehouse/duckdb/target.ts';
import { openDucklakeTarget } from '../../warehouse/ducklake/target.ts';
import { openPostgresTarget } from '../../warehouse/postgres/target.ts';
import type { CliContext } from '../context.ts';
import { addExamples } from '../help.ts';
import { printJson } from '../print/output.ts';
import { checkAlerts } from './alerts.ts';
import { checkNode, clientOf, type DoctorWorld, runChecks, together, zoneQuestion } from './checks.ts';
import { broken, type Finding, guarded, type NamedFinding, ok, skipped, warning } from './finding.ts';
import { checkOwnReceiver, judgeReached, reach } from './reach.ts';
import { checkReceiver } from './receiver.ts';
import { checkService } from './service.ts';

interface DoctorOptions {
  readonly online?: boolean;
  readonly banLifted?: boolean;
  readonly alert?: boolean;
  readonly json?: boolean;
}

export function register(program: Command, context: CliContext): void {
  const command = program
    .command('doctor')
    .summary('check everything and say how to fix it')
    .description(
      'Checks Node, settings, the home directory and whose it is, the state and its backup, disk, both warehouses, time zones, the receiver of push messages, ' +
        'signatures, credentials and the token on disk. With --online also the credentials, every endpoint, the clock and the webhook. ' +
        'Exits with 0 when nothing is broken, 1 when something is, 2 when the settings cannot be read.',
    )
    .option(
      '--online',
      'also get a token (one request, or none when the one on disk still serves) and call every endpoint once',
    )
    .option(
      '--ban-lifted',
      'with --online: ask for a token though the address was banned, once; only when the service says that it lifted the ban',
    )
    .option('--alert', 'also send a test through every channel for alerts, and say what came back')
    .option('--json', 'print one JSON document')
    .action((options: DoctorOptions) => doctor(options, context));
  addExamples(command, [
    ['doctor', 'without calling the service'],
    ['doctor --online', 'also whether the credentials are accepted and every endpoint answers'],
    ['doctor --alert', 'also a test through every channel for alerts'],
  ]);
}

async function doctor(
  { online = false, banLifted = false, alert = false, json = false }: DoctorOptions,
  context: CliContext,
): Promise<void> {
  let findings: NamedFinding[];
  try {
    findings = await diagnose(context, { online, banLifted, alert });
  } catch (thrown) {
    const { message, hint } = asEtlError(thrown);
    const settings = { check: 'settings', ...broken(message, hint ?? 'see the message') };
    const node = { check: 'node', ...checkNode(process.versions.node) };
    if (json) printJson(context.stdout, documentOf([node, settings]));
    throw thrown;
  }
  if (json) printJson(context.stdout, documentOf(findings));
  else context.stdout.write(`${linesOf(findings).join('\n')}\n`);
  context.finish(findings.some(({ state }) => state === 'broken') ? EXIT.failed : EXIT.done);
}

/** Everything that is checked. Errors: those of the settings. */
export async function diagnose(
  context: CliContext,
  {
    online,
    banLifted = false,
    alert = false,
  }: Pick<DoctorOptions, 'banLifted' | 'alert'> & { readonly online: boolean },
): Promise<NamedFinding[]> {
  const config = await context.config();
  const findings = await runChecks(worldOf(config, { online, banLifted }, context));
  return [...findings, ...(await checkAlerts(config.alerts, context.clock, alert))];
}

function worldOf(
  config: Config,
  { online, banLifted }: { readonly online: boolean; readonly banLifted: boolean },
  context: CliContext,
): DoctorWorld {
  const { clock } = context;
  return {
    config,
    clock,
    nodeVersion: process.versions.node,
    uid: process.getuid?.() ?? null,
    warehouse: () => checkWarehouse(config, context),
    postgres: () => checkPostgres(config, context),
    ducklake: () => checkDucklake(config, context),
    receiver: () => checkReceiver(config.push, clock.now()),
    tokenState: async () => {
      if (config.stateUrl === null && !(await isThere(config.home.database)))
        return ok('none on disk, and none was asked for yet');
      return ofTokens(config, context, async ({ token, settings }, state) => {
        // Before anything is said of the ban: it is over.
        if (banLifted) await endBan(state, settings, clock.now());
        return judgeToken(await token.state());
      });
    },
    online: online ? () => ofTokens(config, context, ({ token }) => askOnce(token, context.signal)) : null,
    service: () => askService(config, context),
  };
}

async function checkWarehouse({ targets, home, engine }: Config, { clock, pipelines }: CliContext): Promise<Finding> {
  if (!targets.duckdb) return skipped('targets.duckdb.enabled is false');
  const target = openDuckdbTarget({
    file: home.warehouse,
    workDir: home.work,
    engine: engineSize(engine),
    clock,
    pipelines,
  });
  try {
    await target.check();
    return ok((await target.exists()) ? home.warehouse : `${home.warehouse} will be made by the first run`);
  } finally {
    await target.close();
  }
}

async function checkPostgres(
  { targets, home, engine, timeZone }: Config,
  { clock, pipelines }: CliContext,
): Promise<Finding> {
  const { postgresUrl: url } = targets;
  if (url === null) return skipped('off: PARTNER_ETL_POSTGRES_URL turns it on');
  const target = openPostgresTarget({
    url,
    workDir: home.work,
    engine: engineSize(engine),
    clock,
    pipelines,
  });
  try {
    const version = await target.check();
    const { sql, answer } = zoneQuestion(timeZone);
    const shown = String((await target.query(sql, 1)).rows[0]?.[0]);
    const clear = isSentInClear(url) ? ', without TLS (targets.postgres.requireTls is false)' : '';
    if (shown === answer) return ok(`${version}, knows ${timeZone}${clear}`);
    return broken(
      `${timeZone} shows ${shown} in this Postgres and ${answer} in Node`,
      'bring the time zone data of the server up to date (package tzdata)',
    );
  } finally {
    await target.close();
  }
}

async function checkDucklake({ targets, home, engine }: Config, { clock, pipelines }: CliContext): Promise<Finding> {
  const { ducklake: at } = targets;
  if (at === null) return skipped('off: PARTNER_ETL_DUCKLAKE_URL turns it on');
  const target = openDucklakeTarget({ at, workDir: home.work, engine: engineSize(engine), clock, pipelines });
  try {
    const version = await target.check();
    const { host, pathname } = new URL(at.catalogUrl);
    const where = `${at.schema} in ${host}${pathname}, files in ${at.data}`;
    return ok(`DuckDB ${version}, ${(await target.exists()) ? where : `${where}; the first run makes it`}`);
  } finally {
    await target.close();
  }
}

/** Every endpoint, the clocks, and by what the answers say, the way of push messages. */
async function askService(config: Config, { clock, signal }: CliContext): Promise<readonly NamedFinding[]> {
  const { findings, subscriptions } = await checkService(config, { clock, signal, random: Math.random });
  const { push } = config;
  const reached: NamedFinding[] = [];
  const receiver = push.enabled ? await withState(config, ({ db }) => announcedReceiver(db)) : null;
  if (push.enabled) {
    const own = await guarded(() => checkOwnReceiver(receiver, push.path, clock));
    reached.push({ check: 'receiver answers', ...own });
  }
  const urls = [...new Set(subscriptions.flatMap(({ url }) => url ?? []))];
  if (!push.enabled || urls.length === 0) {
    const why = push.enabled ? 'no subscription names an address' : 'push.enabled is false';
    return [...findings, ...reached, { check: 'webhook', ...skipped(why) }];
  }
  for (const url of urls.slice(0, MOST_WEBHOOKS)) {
    const answer = await reach(url, { clock, receiver });
    reached.push({ check: 'webhook', ...judgeReached(url, answer, push.path, receiver !== null) });
  }
  return [...findings, ...reached];
}

const MOST_WEBHOOKS = 5;

interface PairSource {
  readonly about: string;
  readonly settings: PartnerSettings;
  readonly token: TokenSource;
}

/** Looks at the token of each pair of credentials, in the state that is opened for it. */
async function ofTokens(
  config: Config,
  context: CliContext,
  look: (source: PairSource, state: State) => Promise<Finding>,
): Promise<Finding> {
  return withState(config, (state) => ofEach(tokenSources(config, state, context), (source) => look(source, state)));
}

/** Errors: `failed/lost_state`, lest an empty state takes the place of one that is lost; those of `openState`. */
async function withState<T>({ home, stateUrl }: Config, look: (state: State) => Promise<T>): Promise<T> {
  const state = await openState({ url: stateUrl, home });
  try {
    return await look(state);
  } finally {
    await state.close();
  }
}

/** One for each pair of credentials; areas may share one. */
export function tokenSources(config: Config, state: State, { clock, log }: CliContext): PairSource[] {
  const sources = new Map<string, PairSource>();
  for (const area of AREAS) {
    const partner = config.partners[area];
    if (partner === null) continue;
    // One try: a doctor who asks again and again makes the patient worse.
    const settings = { ...partner, retry: { ...partner.retry, tries: 1 } };
    const token = new CachedTokenSource({ settings, state, clock, random: Math.random, log });
    sources.set(pairOf(settings), { about: clientOf(partner), settings, token });
  }
  return [...sources.values()];
}

/** One after the other, each also when the one before failed. */
async function ofEach(
  sources: readonly PairSource[],
  look: (source: PairSource) => Promise<Finding>,
): Promise<Finding> {
  const findings: { about: string; finding: Finding }[] = [];
  for (const source of sources) findings.push({ about: source.about, finding: await guarded(() => look(source)) });
  return together(findings);
}

async function askOnce(token: TokenSource, signal: AbortSignal): Promise<Finding> {
  await token.get(signal);
  const { expiresAt } = await token.state();
  return ok(`a token was granted or still serves, until ${expiresAt ?? 'it is used up'}`);
}

/** What the state on disk means for the next call. */
export function judgeToken(state: TokenState): Finding {
  const { expiresAt, circuit, refusal, said, notBefore, requestsLastHour, mostPerHour } = state;
  const asked = `${requestsLastHour} of ${mostPerHour} requests in the last hour`;
  if (circuit === 'open')
    return broken(
      `the service refused (${[refusal, said].filter(Boolean).join(': ')}); the next request is allowed at ${notBefore}`,
      refusal === 'address_banned'
        ? 'check PARTNER_AUTH_URL; else the address is banned: wait, or ask the service to lift the ban'
        : 'check PARTNER_CLIENT_ID and PARTNER_CLIENT_SECRET; changed credentials are tried at once',
    );
  if (circuit === 'half-open')
    return warning(`the service refused last time (${refusal})`, 'partner-etl doctor --online tries once more');
  if (requestsLastHour >= mostPerHour)
    return warning(asked, 'look in the log why tokens do not last; no more are asked for within the hour');
  return ok(expiresAt === null ? `none in the state, ${asked}` : `in the state, expires at ${expiresAt}, ${asked}`);
}

export function documentOf(findings: readonly NamedFinding[]) {
  return { healthy: findings.every(({ state }) => state !== 'broken'), checks: findings };
}

const STATE_WIDTH = 7;

/** A line for each finding, with the fix below what has one, and the sum of it. */
export function linesOf(findings: readonly NamedFinding[]): string[] {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, state, detail, fix }) => [
    `${state.padEnd(STATE_WIDTH)}  ${check.padEnd(width)}  ${detail}`,
    ...(fix === null ? [] : [`${' '.repeat(STATE_WIDTH + width + 4)}fix: ${fix}`]),
  ]);
  const count = findings.filter(({ state }) => state === 'broken').length;
  return [...lines, count === 0 ? 'Nothing is broken.' : `${count} broken.`];
}
