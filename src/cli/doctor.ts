/** `doctor`: checks everything that a run needs and says the mend. Asks the service for nothing, unless --online. */
import type { Command } from 'commander';
import { pipelines } from '../../pipelines/index.ts';
import type { Config } from '../config.ts';
import { asEtlError, EXIT } from '../core/errors.ts';
import { AREAS } from '../partner/settings.ts';
import { CachedTokenSource, type TokenSource, type TokenState, tokenFiles } from '../partner/token.ts';
import { openPostgresTarget } from '../warehouse/postgres/target.ts';
import type { CliContext } from './context.ts';
import {
  broken,
  checkNode,
  clientOf,
  type DoctorWorld,
  type Finding,
  guarded,
  type NamedFinding,
  ok,
  runChecks,
  together,
  warning,
} from './doctor-checks.ts';
import { checkReceiver } from './doctor-receiver.ts';
import { addExamples } from './help.ts';
import { printJson } from './output.ts';

interface DoctorOptions {
  readonly online?: boolean;
  readonly json?: boolean;
}

export function register(program: Command, context: CliContext): void {
  const command = program
    .command('doctor')
    .summary('check everything and say the mend')
    .description(
      'Checks Node, settings, home directory, disk, DuckDB, time zones, Postgres, the receiver of push messages, credentials and the token on disk.\n' +
        'Exits with 0 when nothing is broken, 1 when something is, 2 when the settings cannot be read.',
    )
    .option('--online', 'also get a token: with one request, or none when the one on disk still serves')
    .option('--json', 'print one JSON document')
    .action((options: DoctorOptions) => doctor(options, context));
  addExamples(command, [
    ['doctor', 'without calling the service'],
    ['doctor --online', 'also whether the credentials are accepted'],
  ]);
}

async function doctor({ online = false, json = false }: DoctorOptions, context: CliContext): Promise<void> {
  let config: Config;
  try {
    config = await context.config();
  } catch (thrown) {
    const { message, hint } = asEtlError(thrown);
    const settings = { check: 'settings', ...broken(message, hint ?? 'see the message') };
    if (json) tellAsJson([{ check: 'node', ...checkNode(process.versions.node) }, settings], context);
    throw thrown;
  }
  const findings = await runChecks(worldOf(config, online, context));
  if (json) tellAsJson(findings, context);
  else tell(findings, context);
  context.finish(findings.some(({ state }) => state === 'broken') ? EXIT.failed : EXIT.done);
}

function worldOf(config: Config, online: boolean, context: CliContext): DoctorWorld {
  const { clock } = context;
  const sources = tokenSources(config, context);
  return {
    config,
    nodeVersion: process.versions.node,
    checkPostgres: async (url) => {
      const target = openPostgresTarget({ url, workDir: config.home.work, clock, pipelines });
      try {
        return await target.check();
      } finally {
        await target.close();
      }
    },
    receiver: () => checkReceiver(config.push, clock.now()),
    tokenState: () => ofEach(sources, async ({ token }) => judgeToken(await token.state())),
    online: online ? () => ofEach(sources, ({ token }) => askOnce(token, context.signal)) : null,
  };
}

interface PairSource {
  readonly about: string;
  readonly token: TokenSource;
}

/** One for each pair of credentials; areas may share one. */
function tokenSources(config: Config, { clock, log }: CliContext): PairSource[] {
  const sources = new Map<string, PairSource>();
  for (const area of AREAS) {
    const partner = config.partners[area];
    if (partner === null) continue;
    // One try: a doctor who asks again and again makes the patient worse.
    const settings = { ...partner, retry: { ...partner.retry, tries: 1 } };
    const token = new CachedTokenSource({ settings, home: config.home, clock, random: Math.random, log });
    sources.set(tokenFiles(settings, config.home).cache, { about: clientOf(partner), token });
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
  return ok(expiresAt === null ? `none on disk, ${asked}` : `on disk, expires at ${expiresAt}, ${asked}`);
}

function tellAsJson(findings: readonly NamedFinding[], context: CliContext): void {
  printJson(context.stdout, { healthy: findings.every(({ state }) => state !== 'broken'), checks: findings });
}

const STATE_WIDTH = 7;

function tell(findings: readonly NamedFinding[], context: CliContext): void {
  const width = Math.max(...findings.map(({ check }) => check.length));
  for (const { check, state, detail, mend } of findings) {
    const lines = [`${state.padEnd(STATE_WIDTH)}  ${check.padEnd(width)}  ${detail}`];
    if (mend !== null) lines.push(`${' '.repeat(STATE_WIDTH + width + 4)}mend: ${mend}`);
    context.stdout.write(`${lines.join('\n')}\n`);
  }
  const count = findings.filter(({ state }) => state === 'broken').length;
  context.stdout.write(count === 0 ? 'Nothing is broken.\n' : `${count} broken.\n`);
}
