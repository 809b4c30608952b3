/**
 * Whether what a night has so far, the reports, is published before the rest is asked for. It costs a publication more, so only where readers would
 * else wait for minutes: what was fetched has changed slices, and the calls that are left take longer than that. Where no slice changed nothing is even counted, so an unchanged night costs what it did.
 */
import { asEtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { secondsOf } from '../estimate.ts';
import { nightPlans } from '../plans.ts';
import type { Session } from '../session.ts';

/** The last publication is a second; a warehouse of years is copied in ten. Below this a reader does not wait for long. */
const LONG_SECONDS = 60;

/** `done`, `rest`: pipelines of the night, before the next one is begun. */
export async function publishWhatIsDone(
  { context, tally, publisher }: Session,
  done: readonly Pipeline[],
  rest: readonly Pipeline[],
): Promise<void> {
  if (!publisher.mayBeEarly || tally.changed === 0 || context.signal.aborted) return;
  const seconds = await secondsLeft(context, rest);
  if (seconds < LONG_SECONDS) return;
  const minutes = Math.max(1, Math.round(seconds / 60));
  context.progress.note(`what is done is published; the calls that are left take about ${minutes} min`);
  await publisher.publishEarly(done);
}

/** What is wrong with a plan is reported when its pipeline is begun. */
async function secondsLeft(context: Session['context'], rest: readonly Pipeline[]): Promise<number> {
  try {
    return secondsOf(context, await nightPlans(context, rest));
  } catch (thrown) {
    context.log.debug(`not published early: ${asEtlError(thrown).message}`);
    return 0;
  }
}
