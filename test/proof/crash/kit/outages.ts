/** Postgres that goes away in the middle of a night: restarted, sessions ended, connections cut. */
import { openProxy } from '../../../warehouse/postgres/proxy.ts';
import { seeded } from './random.ts';
import { badlyTold, type Kind, lastLines, NIGHT, type Round, type Stage } from './stage.ts';

/** The server is there when the night begins, or there would be nothing to lose. */
const [EARLIEST, LATEST] = [0.2, 1];

const END_SESSIONS = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $$kit$$';

/** Takes the server away at a random moment, and again after a while, until the night is over. */
async function disturbed(
  stage: Stage,
  seed: number,
  disturb: () => Promise<void> | void,
  env: Readonly<Record<string, string>> = {},
): Promise<Round> {
  const { tookMs } = await stage.undisturbed(NIGHT);
  await stage.begin(NIGHT);
  const random = seeded(seed);
  const night = stage.scene.run(NIGHT.words, { ...stage.optionsOf(NIGHT), env });
  const moments: number[] = [];
  let isOver = false;
  const over = night.then(
    () => {
      isOver = true;
    },
    () => {
      isOver = true;
    },
  );
  const times = 1 + random.below(3);
  let waitMs = Math.round(random.between(EARLIEST, LATEST) * tookMs);
  for (let i = 0; i < times && !isOver; i++) {
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, waitMs))]);
    if (isOver) break;
    await disturb();
    moments.push(waitMs);
    waitMs = Math.round(random.between(0, 0.2) * tookMs);
  }
  const end = await night;
  const when = `disturbed after ${moments.join(' + ') || 'its end'} ms, ended with ${end.code ?? end.signal}`;
  const bad = badlyTold(end);
  if (bad !== null) return { verdict: 'failed', note: `${when}: ${bad}\n${lastLines(end.stderr)}` };
  const wrong = await stage.healed(NIGHT, true);
  return wrong === null ? { verdict: 'equal', note: when } : { verdict: 'failed', note: `${when}: ${wrong}` };
}

export const outages: readonly Kind[] = [
  {
    name: 'postgres-restart',
    rounds: 24,
    round: (stage, seed) =>
      disturbed(stage, seed, () => stage.scene.postgres.restart(seed % 2 === 0 ? 'SIGINT' : 'SIGQUIT')),
  },
  {
    name: 'postgres-terminate',
    rounds: 24,
    round: (stage, seed) => disturbed(stage, seed, () => stage.scene.administer(END_SESSIONS)),
  },
  {
    name: 'postgres-cut',
    rounds: 24,
    async round(stage, seed) {
      const proxy = await openProxy(stage.scene.databaseUrl);
      try {
        const env = { PARTNER_ETL_POSTGRES_URL: proxy.url };
        return await disturbed(stage, seed, () => proxy.cutAll(), env);
      } finally {
        await proxy.close();
      }
    },
  },
];
