/** A DuckLake of one's own for the conformance suite: a database for the catalog, and a folder or a bucket for the files. */
import { cpSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { pipelines } from '../../../pipelines/index.ts';
import { systemClock } from '../../../src/core/clock.ts';
import type { DucklakePlace } from '../../../src/core/ducklake.ts';
import { engineSize } from '../../../src/engine/size.ts';
import { Catalog } from '../../../src/warehouse/ducklake/catalog.ts';
import { DucklakeStore } from '../../../src/warehouse/ducklake/store.ts';
import { openDucklakeTarget } from '../../../src/warehouse/ducklake/target.ts';
import { NO_SETTINGS } from '../../../src/warehouse/settings.ts';
import type { Target } from '../../../src/warehouse/target.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';
import { publicationOf } from '../../support/slices.ts';
import { type Beginning, type NewWarehouse, removeFolder, type Warehouse } from '../bench.ts';

export interface DucklakeWarehouse extends Warehouse {
  readonly at: DucklakePlace;
  /** The first column of a query on the catalog's own tables, as text. */
  ask(sql: string): Promise<string[]>;
  /** What DuckDB says to one statement on the lake, past the target. */
  store(): DucklakeStore;
}

/** Where new ones put their files; a bucket's prefix must be new each time. */
export interface Files {
  readonly data: string;
  readonly s3: DucklakePlace['s3'];
  /** Copies what a template holds. */
  copy(from: string): Promise<void>;
  remove(): Promise<void>;
}

export async function inFolder(): Promise<Files> {
  const data = await mkdtemp(path.join(tmpdir(), 'partner-etl-ducklake-'));
  return {
    data,
    s3: null,
    copy: async (from) => cpSync(from, data, { recursive: true }),
    remove: () => removeFolder(data),
  };
}

interface Template {
  readonly database: Database;
  readonly files: Files;
}

const SCHEMA = 'lake';

export function ducklakeWarehouses(extensions: string, newFiles: () => Promise<Files> = inFolder): NewWarehouse {
  let template: Promise<Template> | null = null;
  return async (beginning) => {
    if (beginning === 'migrated') template ??= makeTemplate(extensions, newFiles);
    return ducklakeWarehouse(beginning, extensions, newFiles, beginning === 'migrated' ? await template : null);
  };
}

async function makeTemplate(extensions: string, newFiles: () => Promise<Files>): Promise<Template> {
  const warehouse = await ducklakeWarehouse('none', extensions, newFiles, null);
  await warehouse.open().publish({ ...publicationOf('none', []), afresh: true });
  await warehouse.execute('DELETE FROM etl.run');
  return { database: warehouse.database, files: warehouse.files };
}

async function ducklakeWarehouse(
  _beginning: Beginning,
  extensions: string,
  newFiles: () => Promise<Files>,
  template: Template | null,
): Promise<DucklakeWarehouse & { readonly database: Database; readonly files: Files }> {
  const [database, files, workDir] = await Promise.all([
    freshDatabase(template?.database),
    newFiles(),
    mkdtemp(path.join(tmpdir(), 'partner-etl-ducklake-work-')),
  ]);
  const at: DucklakePlace = {
    catalogUrl: database.url,
    schema: SCHEMA,
    data: files.data,
    s3: files.s3,
    extensions,
    snapshotDays: 30,
  };
  const targets: Target[] = [];
  const store = () => new DucklakeStore(at, workDir, engineSize(), systemClock);
  const ask = async (sql: string) => {
    const client = new pg.Client({ connectionString: database.url, application_name: 'a test' });
    await client.connect();
    try {
      return (await client.query({ text: sql, rowMode: 'array' })).rows.map(([value]) => String(value));
    } finally {
      await client.end();
    }
  };
  if (template !== null) {
    await files.copy(template.files.data);
    const data = files.data.endsWith('/') ? files.data : `${files.data}/`;
    await ask(`UPDATE ${SCHEMA}.ducklake_metadata SET value = '${data}' WHERE key = 'data_path' RETURNING value`);
  }
  return {
    name: 'ducklake',
    engine: 'duckdb',
    database,
    files,
    at,
    ask,
    store,
    open(clock = systemClock, settings = NO_SETTINGS, declared = pipelines) {
      const target = openDucklakeTarget({ at, workDir, clock, pipelines: declared, settings });
      targets.push(target);
      return target;
    },
    async execute(sql) {
      await store().change({ what: 'a test' }, async (engine) => ({ value: await engine.run(sql), isWritten: true }));
    },
    async fingerprint() {
      const [there] = await ask(`SELECT to_regclass('${SCHEMA}.ducklake_snapshot')`);
      return there === 'null' ? there : (await ask(`SELECT max(snapshot_id) FROM ${SCHEMA}.ducklake_snapshot`)).join();
    },
    async occupy() {
      const lock = await new Catalog(database.url, SCHEMA, systemClock).lock();
      return () => lock.release();
    },
    async remove() {
      await Promise.all(targets.map((target) => target.close()));
      await database.drop();
      await files.remove();
      await removeFolder(workDir);
    },
  };
}
