/** A process of its own that makes calls under a shared budget: `node pacing-child.mjs BUILD STATE COUNT CALLS`, where STATE is a file or postgres://…. Prints when. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [build, place, count, calls] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(path.join(build, 'src', file)).href);
const { Pacing } = await load('partner/pacing/pacing.js');
const { systemClock } = await load('core/clock.js');
/** What the budget was last told that it is: on a busy machine this process may look at the clock much later. */
let lastMs = 0;
const clock = {
  ...systemClock,
  now: () => {
    lastMs = systemClock.now();
    return lastMs;
  },
};
const { openSqliteState } = await load('store/sqlite/state.js');
const { openPostgresState } = await load('store/postgres/state.js');
const quiet = () => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };

const state = await (place.startsWith('postgres:') ? openPostgresState(place) : openSqliteState(place));
const pacing = new Pacing({ state, clock, log });
const budget = { calls: Number(calls), perSeconds: 1, concurrency: 8 };
const call = async () => {
  const turn = await pacing.turn('commission', budget);
  turn.sent();
  console.log(lastMs);
  turn.answered();
  turn.done();
};
await Promise.all(Array.from({ length: Number(count) }, call));
await pacing.close();
await state.close();
