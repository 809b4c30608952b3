/** The calls of one pipeline in one night: many at once, never more than the night's budget, their errors in the tally. */
import { asEtlError, EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { Call } from '../../partner/call.ts';
import type { Gatherer } from '../../store/raw/gather.ts';
import type { Partner } from '../context.ts';
import type { Partners } from '../partners.ts';
import type { Session } from '../session.ts';
import { ManyCalls } from './many-calls.ts';

/** Between the two methods that make calls, and seen by nobody else. */
const OUT_OF_CALLS = 'out_of_calls';

/** Opens the way to the service and gathers the answers; they lie in the raw store when this resolves. */
export async function withNightCalls<T>(
  session: Session,
  partners: Partners,
  pipeline: Pipeline,
  callsAllowed: number,
  work: (calls: NightCalls) => Promise<T>,
): Promise<T> {
  const partner = await partners.of(pipeline);
  const { raw, clock } = session.context;
  const gatherer = raw.gather(pipeline.name, clock);
  return partners.gathering(pipeline, gatherer, async () => {
    const calls = new NightCalls(session, partner, pipeline.name, gatherer, callsAllowed);
    try {
      return await work(calls);
    } finally {
      calls.end();
    }
  });
}

export class NightCalls {
  readonly partner: Partner;
  private readonly session: Session;
  private readonly pipelineName: string;
  private readonly gatherer: Gatherer;
  private readonly calls: ManyCalls;
  private callsLeft: number;

  constructor(session: Session, partner: Partner, pipelineName: string, gatherer: Gatherer, callsAllowed: number) {
    this.session = session;
    this.partner = partner;
    this.pipelineName = pipelineName;
    this.gatherer = gatherer;
    this.calls = new ManyCalls(session.context.signal);
    this.callsLeft = callsAllowed;
  }

  /** Aborted by the operator, or when the rest is given up. */
  get signal(): AbortSignal {
    return this.calls.signal;
  }

  /** Where answers go. */
  get place() {
    return { pipeline: this.pipelineName, raw: this.session.context.raw, gatherer: this.gatherer };
  }

  /** To be called when nothing is asked any more. */
  end(): void {
    this.calls.end();
  }

  /** Makes a call. Where the night's budget is used up, it ends the work on the unit that is asked about, and is no failure. */
  async call<T>(call: Call<T>): Promise<T> {
    if (this.callsLeft <= 0) throw new EtlError('failed', OUT_OF_CALLS, "the night's budget of calls is used up");
    this.callsLeft -= 1;
    return (await this.partner.client.call(call)).value;
  }

  /**
   * Works on each of the units, `concurrency` at once; `work` returns how many things it asked for. Returns how many units the
   * budget left out.
   */
  async each<T>(
    units: Iterable<T> | AsyncIterable<T>,
    concurrency: number,
    work: (unit: T) => Promise<number>,
  ): Promise<number> {
    const { context, tally } = this.session;
    const name = this.pipelineName;
    let leftOut = 0;
    const ask = async (unit: T) => {
      if (this.callsLeft <= 0) {
        leftOut += 1;
        return;
      }
      try {
        const rows = await work(unit);
        context.progress.window(name, { from: '', to: '', rows, changed: 0 });
        await context.step('answer-received', name);
      } catch (thrown) {
        if (asEtlError(thrown).code !== OUT_OF_CALLS) throw thrown;
        leftOut += 1;
      }
    };
    await this.calls.each(units, concurrency, ask, (error, _, isLast) => {
      tally.errors.push(error.about({ pipeline: name }));
      if (isLast) context.progress.note(`${name}: given up, the rest waits for the next run`);
    });
    return leftOut;
  }
}
