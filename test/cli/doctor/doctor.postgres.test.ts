import { expect, onTestFinished, test } from 'vitest';
import { place } from '../../config/place.ts';
import { freshDatabase } from '../../support/postgres-database.ts';
import { run } from '../surroundings.ts';

test('a Postgres that is fit and agrees on the time is fine', async () => {
  const { url, drop } = await freshDatabase();
  onTestFinished(drop);
  const root = await place();
  const env = { PARTNER_ETL_POSTGRES_URL: url };
  const { stdout } = await run(['doctor', '--json'], { env, cwd: root, packageRoot: root });
  const { checks } = JSON.parse(stdout.text) as { checks: { check: string; state: string; detail: string }[] };
  expect(checks.find(({ check }) => check === 'postgres')).toMatchObject({
    state: 'ok',
    detail: expect.stringMatching(/^(?:PostgreSQL )?\d+\.\d+.*, knows Europe\/Amsterdam$/),
  });
});
