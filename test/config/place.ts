import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { type Config, loadConfig } from '../../src/config.ts';
import { EtlError } from '../../src/core/errors.ts';

const REPOSITORY = path.resolve(import.meta.dirname, '../..');

/** A folder with config/default.yaml as shipped and, when given, a config/local.yaml; removed after the test. */
export async function place(local?: string | Uint8Array): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), 'partner-etl-config-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await mkdir(path.join(root, 'config'));
  await cp(path.join(REPOSITORY, 'config/default.yaml'), path.join(root, 'config/default.yaml'));
  if (local !== undefined) await writeFile(path.join(root, 'config/local.yaml'), local);
  return root;
}

export async function load(local?: string | Uint8Array, env: Readonly<Record<string, string>> = {}): Promise<Config> {
  const root = await place(local);
  return loadConfig({ env, cwd: root, packageRoot: root });
}

/** The error that loading ends in. */
export async function refusal(
  local?: string | Uint8Array,
  env: Readonly<Record<string, string>> = {},
): Promise<EtlError> {
  const thrown: unknown = await load(local, env).then(
    () => null,
    (error: unknown) => error,
  );
  if (thrown instanceof EtlError) return thrown;
  throw new Error(`expected a refusal, got ${String(thrown)}`);
}
