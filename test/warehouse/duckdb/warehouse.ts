/** A DuckDB warehouse of one's own for the conformance suite. */
import { copyFile, mkdtemp, readdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipelines } from '../../../pipelines/index.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { Engine } from '../../../src/engine/duckdb.ts';
import { fileLocks } from '../../../src/store/sqlite/locks.ts';
import { openDuckdbTarget } from '../../../src/warehouse/duckdb/target.ts';
import { NO_SETTINGS } from '../../../src/warehouse/settings.ts';
import type { Target } from '../../../src/warehouse/target.ts';
import { warehouseTemplate } from '../../support/warehouse-template.ts';
import { type Beginning, removeFolder, type Warehouse } from '../bench.ts';

export interface DuckdbWarehouse extends Warehouse {
  readonly home: string;
  readonly file: string;
  readonly workDir: string;
}

export async function duckdbWarehouse(beginning: Beginning): Promise<DuckdbWarehouse> {
  const home = await mkdtemp(path.join(tmpdir(), 'partner-etl-duckdb-'));
  const file = path.join(home, 'warehouse.duckdb');
  const workDir = path.join(home, 'work');
  if (beginning === 'migrated') {
    await copyFile(await warehouseTemplate(), file);
  }
  const targets: Target[] = [];
  return {
    name: 'duckdb',
    engine: 'duckdb',
    home,
    file,
    workDir,
    open(clock = systemClock, settings = NO_SETTINGS, declared = pipelines) {
      const target = openDuckdbTarget({ file, workDir, clock, pipelines: declared, settings });
      targets.push(target);
      return target;
    },
    async execute(sql) {
      const engine = await Engine.open({ file, tempDir: path.join(home, 'spill') });
      try {
        await engine.run(sql);
      } finally {
        engine.close();
      }
    },
    async fingerprint() {
      const names = (await readdir(home)).filter((name) => name.startsWith('warehouse'));
      const stats = await Promise.all(names.map((name) => stat(path.join(home, name), { bigint: true })));
      return stats.map(({ ino, size, mtimeNs }, i) => `${names[i]} ${ino} ${size} ${mtimeNs}`).join('\n');
    },
    async occupy() {
      const lock = await fileLocks(path.join(home, 'locks'), systemClock).tryLock('publish-warehouse.duckdb', 'a test');
      if (!lock) throw new Error('the lock is taken');
      return () => lock.release();
    },
    async remove() {
      await Promise.all(targets.map((target) => target.close()));
      await removeFolder(home);
    },
  };
}
