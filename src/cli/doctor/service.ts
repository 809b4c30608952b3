/**
 * The service as `doctor --online` sees it: one call to every endpoint that can be called without changing anything, the cheapest there
 * is, under the installation's own token and budgets; and the service's clock beside ours, which comes with the answers.
 *
 * Each is tried once. What a call brings is not read any further than its question needs, and is kept nowhere.
 */
import { type CommissionRateSettings, commissionRates, singleCommission } from '../../../pipelines/commission-rates.ts';
import { openApp } from '../../app.ts';
import { type Config, todayOf } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { addDays } from '../../core/days.ts';
import { asEtlError, EtlError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Log } from '../../core/log.ts';
import { eanKeysIn } from '../../core/pipeline.ts';
import { NO_PROGRESS } from '../../core/progress.ts';
import { wholeAnswer } from '../../extract/lookup-answer.ts';
import { parseSubscriptions, type Subscription } from '../../extract/subscription-shapes.ts';
import type { Answer, Call, Consumed } from '../../partner/call.ts';
import { keysCall, keysRequest, reductionsNameCall } from '../../partner/calls/lookups.ts';
import { reportCall } from '../../partner/calls/reports.ts';
import {
  processStatusCall,
  signatureKeysCall,
  subscriptionGetCall,
  subscriptionListCall,
} from '../../partner/calls/subscriptions.ts';
import { type Area, callOf, type EndpointBudget, type PartnerSettings } from '../../partner/settings.ts';
import { type Partner, type RunContext, settingsOf } from '../../run/context.ts';
import { documentOf } from '../../sources/body.ts';
import { broken, type Finding, type NamedFinding, ok, skipped, warning } from './finding.ts';

export interface ServiceWorld {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly random: () => number;
}

export interface ServiceFindings {
  readonly findings: readonly NamedFinding[];
  readonly subscriptions: readonly Subscription[];
}

/** One call, and what it is called in the settings. */
interface Probe {
  readonly name: string;
  readonly area: Area;
  readonly call: (settings: PartnerSettings, consume: Consume, signal: AbortSignal) => Call<number>;
}

type Consume = (answer: Answer) => Promise<Consumed<number>>;

const ABOUT = 'doctor';
/** Any will do: that it is unknown is an answer too. */
const EAN = '8712626055143';
/** An id that no process has. */
const NO_PROCESS = '0';
const LONGEST_MS = 60_000;
/** A budget of calls an hour may have none left: nobody waits for that. */
const RARE_SECONDS = 60;
const LONGEST_RARE_MS = 10_000;
const NOT_CALLED =
  'service.retailer.reductions (a file of megabytes, 10 an hour: its name is asked for instead), testPush, and what makes, changes or removes subscriptions';

const silent: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Calls what is enabled or has no switch. Areas without credentials are left out: another check names them. */
export async function checkService(config: Config, world: ServiceWorld): Promise<ServiceFindings> {
  const visit = new Visit(world);
  const app = await openApp({ config: patient(config), ...world, log: silent, progress: NO_PROGRESS });
  const partners = new Map<Area, Partner>();
  const runId = newId('r', world.clock);
  try {
    for (const probe of probesOf(app.context, todayOf(config, world.clock))) {
      if (config.partners[probe.area] === null) continue;
      const partner =
        partners.get(probe.area) ?? (await app.context.openClient(probe.area, runId, async () => undefined));
      partners.set(probe.area, partner);
      await visit.call(probe, partner);
    }
    const retailer = partners.get('retailer');
    if (retailer) await visit.subscriptionsOf(retailer);
  } finally {
    for (const { client } of partners.values()) await client.close();
    await app.close();
  }
  const { findings, subscriptions, skewMs } = visit;
  findings.push({ check: 'not called', ...skipped(NOT_CALLED) });
  findings.push({ check: 'clock', ...(skewMs === null ? skipped('no answer gave the time') : judgeSkew(skewMs)) });
  return { findings, subscriptions };
}

const UNEASY_SKEW_MS = 30_000;
const WRONG_SKEW_MS = 300_000;

/** `skewMs`: how far our clock is ahead of the service's. */
export function judgeSkew(skewMs: number): Finding {
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const detail = seconds <= 1 ? 'as the service’s' : `${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the service’s`;
  const fix = 'let this machine keep time: timedatectl set-ntp true, or another time service';
  if (Math.abs(skewMs) > WRONG_SKEW_MS)
    return broken(`${detail}: days are taken for others, and tokens for fresh when they are not`, fix);
  return Math.abs(skewMs) > UNEASY_SKEW_MS ? warning(detail, fix) : ok(detail);
}

class Visit {
  readonly findings: NamedFinding[] = [];
  subscriptions: readonly Subscription[] = [];
  /** The smallest that an answer showed: the way of an answer only ever adds to it. */
  skewMs: number | null = null;
  private readonly world: ServiceWorld;

  constructor(world: ServiceWorld) {
    this.world = world;
  }

  async call({ name, call }: Probe, { client, settings }: Partner): Promise<void> {
    const began = this.world.clock.now();
    await this.look(name, call(settings, this.consume, this.world.signal).budget, async (signal) => {
      const { value: status } = await client.call(call(settings, this.consume, signal));
      const unknown = status >= 400 ? ', as it may to a question about what does not exist' : '';
      return `answers ${status}${unknown}, after ${this.world.clock.now() - began} ms`;
    });
  }

  async subscriptionsOf({ client, settings }: Partner): Promise<void> {
    const { budget } = settings.retailer.subscriptions;
    await this.look('subscriptions', budget, async (signal) => {
      const consume = async (answer: Answer) => {
        this.hear(answer);
        const { decoded } = await wholeAnswer(answer);
        return consumed(parseSubscriptions(documentOf(decoded)));
      };
      this.subscriptions = (await client.call(subscriptionListCall(settings, ABOUT, consume, signal))).value;
      const [first] = this.subscriptions;
      if (first) await client.call(subscriptionGetCall(settings, ABOUT, first.id, this.consume, signal));
      return `${this.subscriptions.length} of them`;
    });
  }

  private async look(
    name: string,
    budget: EndpointBudget,
    work: (signal: AbortSignal) => Promise<string>,
  ): Promise<void> {
    const isRare = budget.perSeconds > RARE_SECONDS;
    const cost = isRare ? `; one of its ${budget.calls} calls in ${budget.perSeconds / 60} minutes` : '';
    const stop = new AbortController();
    const over = new AbortController();
    const longestMs = isRare ? LONGEST_RARE_MS : LONGEST_MS;
    this.world.clock.sleep(longestMs, over.signal).then(
      () => stop.abort(tooLong(longestMs, isRare)),
      () => undefined,
    );
    const check = `${name} call`;
    try {
      const detail = await work(AbortSignal.any([stop.signal, this.world.signal]));
      this.findings.push({ check, ...ok(`${detail}${cost}`) });
    } catch (thrown) {
      this.world.signal.throwIfAborted();
      const { message, hint, code } = asEtlError(thrown);
      const fix = hint ?? `look at service.….${name} in config/default.yaml: path, version, media type`;
      const finding = code === BUDGET_USED ? warning(message, fix) : broken(message, fix);
      this.findings.push({ check, ...finding });
    } finally {
      over.abort();
    }
  }

  private readonly consume: Consume = async (answer) => {
    this.hear(answer);
    return consumed(answer.status);
  };

  private hear({ header }: Answer): void {
    const date = Date.parse(header('date') ?? '');
    if (Number.isNaN(date)) return;
    // The header has whole seconds: on average it is half of one old when it is written.
    const skewMs = this.world.clock.now() - date - 500;
    if (this.skewMs === null || Math.abs(skewMs) < Math.abs(this.skewMs)) this.skewMs = skewMs;
  }
}

const BUDGET_USED = 'budget_used';

function tooLong(longestMs: number, isRare: boolean): EtlError {
  const within = `within ${longestMs / 1000} s`;
  return isRare
    ? new EtlError('failed', BUDGET_USED, `no turn or no answer ${within}`, {
        hint: 'probably the calls of the hour are used up; nothing is wrong if the next run asks for it',
      })
    : new EtlError('failed', 'no_answer', `no answer ${within}`, {
        hint: 'ask again later; see the status of the service',
      });
}

function probesOf(context: RunContext, today: ReturnType<typeof todayOf>): Probe[] {
  const yesterday = addDays(today, -1);
  const reports = context.pipelines
    .filter(({ source }) => source.isByRange)
    .map((pipeline): Probe => {
      const range = { from: yesterday, to: yesterday };
      return {
        name: pipeline.name,
        area: 'reports',
        call: (s, consume, signal) => reportCall(s.calls, pipeline, range, consume, signal),
      };
    });
  const { condition } = settingsOf<CommissionRateSettings>(context, commissionRates);
  const lookups = context.pipelines.flatMap((pipeline): Probe[] => {
    const { area, call } = pipeline.source;
    const keys = eanKeysIn(pipeline);
    if (keys === null || area === null) return [];
    const settings = settingsOf<unknown>(context, pipeline);
    const [variant] = keys.variants === 'listed' ? [{ condition, price: null }] : keys.variants(settings);
    return [
      {
        name: call?.name ?? pipeline.name,
        area,
        call: ({ calls }, consume, signal) => {
          const request = keysRequest(calls, pipeline, [{ ean: EAN, ...variant }], settings);
          return keysCall(calls, pipeline, request, consume, signal);
        },
      },
    ];
  });
  return [
    ...reports,
    ...lookups,
    {
      name: 'commission.single',
      area: 'retailer',
      call: (s, consume, signal) => {
        const single = singleCommission({ ean: EAN, condition, price: null }, callOf(s.calls, commissionRates));
        return keysCall(s.calls, commissionRates, single, consume, signal);
      },
    },
    {
      name: 'reductionsName',
      area: 'retailer',
      call: (s, consume, signal) => reductionsNameCall(s, ABOUT, consume, signal),
    },
    {
      name: 'signatureKeys',
      area: 'retailer',
      call: (s, consume, signal) => signatureKeysCall(s, ABOUT, consume, signal),
    },
    {
      name: 'processStatus',
      area: 'retailer',
      call: (s, consume, signal) => processStatusCall(s, ABOUT, NO_PROCESS, consume, signal),
    },
  ];
}

function consumed<T>(value: T): Consumed<T> {
  return { value, bytesDecoded: 0, sha256: null, rawPath: null, items: null };
}

/** The same settings with one try for each call: a doctor who asks again and again makes the patient worse. */
function patient(config: Config): Config {
  const once = (area: Area) => {
    const partner = config.partners[area];
    return partner && { ...partner, retry: { ...partner.retry, tries: 1 } };
  };
  return { ...config, partners: { reports: once('reports'), catalog: once('catalog'), retailer: once('retailer') } };
}

function nothing(): void {
  // what is found is said at the end
}
