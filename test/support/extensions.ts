/**
 * DuckDB's extensions for the tests that need them. No npm package carries them; PyPI does, in DuckDB's exact version and signed by it. So
 * they need Python and a way to PyPI, and where either is missing the tests say so and are skipped.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { version } from '@duckdb/node-api';
import { packageRoot } from '../../src/disk/package-root.ts';

const NAMES = ['httpfs', 'postgres_scanner', 'ducklake', 'delta'];

const UNPACK = `
import sys, glob, zipfile, os
for wheel in glob.glob(os.path.join(sys.argv[1], '*.whl')):
    with zipfile.ZipFile(wheel) as z:
        for name in z.namelist():
            if name.endswith('.duckdb_extension'):
                with open(os.path.join(sys.argv[1], os.path.basename(name)), 'wb') as out: out.write(z.read(name))
    os.remove(wheel)
`;

/** The folder that `engine.extensions` may name, fetched once for a checkout; null where it cannot be had. */
export async function extensionsFolder(): Promise<string | null> {
  const release = version().replace(/^v/, '');
  const cache = path.join(await packageRoot(), 'node_modules', '.cache', 'duckdb-extensions');
  const folder = path.join(cache, release);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const own = mkdtempSync(path.join(cache, 'fetching-'));
  const packages = NAMES.map((name) => `duckdb-extension-${name.replaceAll('_', '-')}==${release}`);
  try {
    const quiet = { stdio: 'pipe' as const, timeout: 120_000 };
    execFileSync('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', own, ...packages], quiet);
    execFileSync('python3', ['-c', UNPACK, own], quiet);
    renameSync(own, folder); // Another worker may have been first: then its folder is there, and this one goes.
  } catch (error) {
    rmSync(own, { recursive: true, force: true });
    if (existsSync(folder)) return folder;
    console.warn(`skipped: DuckDB's extensions ${release} cannot be had here (${String(error).split('\n')[0]})`);
    return null;
  }
  return folder;
}
