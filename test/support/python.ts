/** Other engines, in a Python of their own: they are here to read what this program writes, and no part of it. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { packageRoot } from '../../src/disk/package-root.ts';

/** The Python with these packages, made once for a checkout; null where there is no Python or no way to PyPI, which is said. */
export async function pythonWith(name: string, packages: readonly string[]): Promise<string | null> {
  const cache = path.join(await packageRoot(), 'node_modules', '.cache', 'python');
  const folder = path.join(cache, name);
  const python = path.join(folder, 'bin', 'python');
  if (existsSync(python)) return python;
  mkdirSync(cache, { recursive: true });
  const own = mkdtempSync(path.join(cache, 'making-'));
  const quiet = { stdio: 'pipe' as const, timeout: 240_000 };
  try {
    execFileSync('python3', ['-m', 'venv', own], quiet);
    const pip = [path.join(own, 'bin', 'python'), '-m', 'pip', 'install', '--quiet', ...packages] as const;
    execFileSync(pip[0], pip.slice(1), quiet);
    renameSync(own, folder);
  } catch (error) {
    rmSync(own, { recursive: true, force: true });
    console.warn(`skipped: ${packages.join(', ')} cannot be had here (${String(error).split('\n')[0]})`);
    return null;
  }
  return python;
}
