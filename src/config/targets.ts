/** The warehouses, from the settings and the environment. */
import path from 'node:path';
import { type DucklakePlace, isBucket } from '../core/ducklake.ts';
import type { HomePaths } from '../core/home.ts';
import { isSentInClear } from './address.ts';
import type { Environment, EnvironmentSettings } from './environment.ts';
import type { Problem } from './problems.ts';
import { readS3 } from './s3.ts';
import type { Settings } from './schema/settings.ts';

export interface TargetSettings {
  readonly duckdb: boolean;
  /** null: Postgres is off. Holds a password. */
  readonly postgresUrl: string | null;
  /** null: DuckLake is off. */
  readonly ducklake: DucklakePlace | null;
}

interface Said {
  readonly env: Environment;
  readonly fromEnv: EnvironmentSettings;
  /** The settings file that a setting is to be changed in. */
  readonly file: string;
}

/** `absolute` makes a path of a name in the settings. */
export function targetsOf(
  { targets, engine }: Settings,
  { env, fromEnv, file }: Said,
  absolute: (name: string) => string,
  home: HomePaths,
): { readonly settings: TargetSettings; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const { postgresUrl, ducklakeUrl } = fromEnv;
  if (!targets.duckdb.enabled && postgresUrl === null && ducklakeUrl === null)
    problems.push({
      where: file,
      key: 'targets.duckdb.enabled',
      value: 'false',
      accepted: 'no warehouse is left: true is accepted, or set PARTNER_ETL_POSTGRES_URL or PARTNER_ETL_DUCKLAKE_URL',
    });
  const urls = {
    PARTNER_ETL_POSTGRES_URL: postgresUrl,
    PARTNER_ETL_DUCKLAKE_URL: ducklakeUrl,
    PARTNER_ETL_STATE_URL: fromEnv.stateUrl,
  };
  for (const [key, url] of Object.entries(urls))
    if (targets.postgres.requireTls && url !== null && isSentInClear(url))
      problems.push({
        where: 'environment',
        key,
        accepted:
          'password and rows would be sent in clear to another machine: add ?sslmode=verify-full, or set targets.postgres.requireTls to false where the network is trusted',
      });
  const { data, schema, snapshotDays } = targets.ducklake;
  const place = data ?? path.join(home.root, 'ducklake');
  const bucket = isBucket(place) && ducklakeUrl !== null ? readS3(env) : { access: null, problems: [] };
  const ducklake = ducklakeUrl !== null && {
    catalogUrl: ducklakeUrl,
    schema,
    data: isBucket(place) ? place : absolute(place),
    s3: bucket.access,
    extensions: engine.extensions === null ? null : absolute(engine.extensions),
    snapshotDays,
  };
  return {
    settings: { duckdb: targets.duckdb.enabled, postgresUrl, ducklake: ducklake || null },
    problems: [...problems, ...bucket.problems],
  };
}
