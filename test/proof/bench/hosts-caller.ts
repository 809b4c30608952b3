/** A host that makes calls under a budget that it shares by the state in Postgres. Arguments: its address, how many, how many a second. Prints when, as JSON. */
import { systemClock } from '../../../src/core/clock.ts';
import { Pacing } from '../../../src/partner/pacing/pacing.ts';
import { openPostgresState } from '../../../src/store/postgres/state.ts';
import { unwatched } from './place.ts';

const [url = '', count = '0', perSecond = '1'] = process.argv.slice(2);
const state = await openPostgresState(url);
const pacing = new Pacing({ state, clock: systemClock, log: unwatched.log });
const budget = { calls: Number(perSecond), perSeconds: 1, concurrency: 8 };
const sentMs: number[] = [];
const call = async () => {
  const turn = await pacing.turn('commission', budget);
  turn.sent();
  sentMs.push(systemClock.now());
  turn.answered();
  turn.done();
};
await Promise.all(Array.from({ length: Number(count) }, call));
await pacing.close();
await state.close();
process.stdout.write(JSON.stringify(sentMs));
