/** Ours, and what a user would pick instead. Each maker installs what it needs, and rejects with Absent where that fails. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { packageRoot } from '../place.ts';
import { install, npmWith, pythonWith, uvEnv } from './installed.ts';
import { type EngineName, fieldTable, type Load, type Peer, snakeTable } from './peer.ts';

/** The name of the one that the others are compared with. */
export const OURS = 'partner-etl';

const BOTH: readonly EngineName[] = ['duckdb', 'postgres'];

const DUCKDB = 'duckdb==1.5.5'; // that of our own client, so that not two versions of DuckDB are compared
const DLT = 'dlt==1.31.0';
const MELTANO = 'meltano==4.4.1';
// The last one that is a package of Python: newer ones load a program, and drivers for it, from elsewhere when first used.
const INGESTR = 'ingestr==0.14.155';
// Likewise: the last one whose program is in the package.
const SLING = 'sling-linux-amd64==1.4.11';
const PARQUETJS = 'parquetjs-lite@0.8.7';

const script = (name: string) => path.join(import.meta.dirname, name);
const source = (name: string) => path.join(packageRoot, 'test', 'proof', 'bench', 'peers', name);

/** The program itself, one target on: `backfill --refetch` asks for everything again, as a night does for its days. */
function ours(): Peer {
  const run = ({ place, folder }: Load, ...args: string[]) => {
    mkdirSync(folder, { recursive: true });
    const settings = path.join(folder, 'settings.yaml');
    writeFileSync(settings, `targets: { duckdb: { enabled: ${place.engine === 'duckdb'} } }\n`);
    const env = { PARTNER_ETL_HOME: folder, PARTNER_ETL_CONFIG: settings, UV_THREADPOOL_SIZE: '8' };
    const main = path.join(import.meta.dirname, '..', '..', '..', '..', 'src', 'main.js');
    return {
      file: process.execPath,
      args: [main, ...args],
      env: place.engine === 'postgres' ? { ...env, PARTNER_ETL_POSTGRES_URL: place.address } : env,
    };
  };
  return {
    name: OURS,
    version: 'this checkout',
    engines: BOTH,
    table: () => snakeTable('warehouse.fact_order_item'),
    load: (load) => run(load, 'backfill', 'orders', '--from', load.from, '--to', load.to, '--refetch', '--json'),
    release: (load, day) => run(load, 'release', 'orders', day),
  };
}

function plain(): Peer {
  return {
    name: 'plain script (fetch, JSON.parse, zod; kysely or appender)',
    version: 'packages of this checkout',
    engines: BOTH,
    table: () => snakeTable('orders'),
    load: ({ place, from, to }) => ({
      file: process.execPath,
      args: [script(`plain-${place.engine}-child.js`), place.address, from, to],
    }),
  };
}

async function parquetjs(dir: string): Promise<Peer> {
  const folder = await npmWith(path.join(dir, 'parquetjs'), PARQUETJS);
  return {
    name: 'parquetjs-lite as the writer, DuckDB reads',
    version: PARQUETJS,
    engines: ['duckdb'],
    table: () => fieldTable('orders'),
    load: ({ place, from, to }) => ({
      file: process.execPath,
      args: [script('parquetjs-child.js'), folder, place.address, from, to],
    }),
  };
}

async function dlt(dir: string): Promise<Peer> {
  const bin = await pythonWith(path.join(dir, 'dlt'), [
    `${DLT.replace('==', '[duckdb,postgres]==')}`,
    DUCKDB,
    'pyarrow',
  ]);
  return {
    name: 'dlt',
    version: DLT,
    engines: BOTH,
    table: () => snakeTable('peer.orders'),
    load: ({ place, from, to, folder }) => ({
      file: path.join(bin, 'python'),
      args: [source('dlt_orders.py'), place.engine, place.address, from, to],
      env: { DLT_DATA_DIR: path.join(folder, 'dlt'), RUNTIME__DLTHUB_TELEMETRY: 'false' },
    }),
  };
}

async function meltano(dir: string): Promise<Peer> {
  const bin = await pythonWith(path.join(dir, 'meltano'), [MELTANO]);
  const project = path.join(dir, 'meltano-project');
  mkdirSync(project);
  copyFileSync(source('meltano.yml'), path.join(project, 'meltano.yml'));
  const env = { ...uvEnv(project), MELTANO_SEND_ANONYMOUS_USAGE_STATS: 'false' };
  await install('plugins of Meltano', { file: path.join(bin, 'meltano'), args: ['install'], cwd: project, env });
  return {
    name: 'Meltano (tap-rest-api-msdk, target-duckdb or target-postgres)',
    version: MELTANO,
    engines: BOTH,
    table: () => fieldTable('peer.orders'),
    load: ({ place, from, to }) => ({
      file: path.join(bin, 'meltano'),
      args: ['run', 'tap-rest-api-msdk', `target-${place.engine}`],
      cwd: project,
      env: {
        MELTANO_SEND_ANONYMOUS_USAGE_STATS: 'false',
        PEER_PLACE: place.address.replace(/^postgres(ql)?:/, 'postgresql+psycopg:'),
        PEER_FROM: from,
        PEER_TO: to,
      },
    }),
  };
}

async function ingestr(dir: string): Promise<Peer> {
  const bin = await pythonWith(path.join(dir, 'ingestr'), [INGESTR]);
  return {
    name: 'ingestr, from a CSV file made of the report',
    version: INGESTR,
    engines: BOTH,
    table: () => snakeTable('peer.orders'),
    load: ({ place, from, to, folder }) => {
      mkdirSync(folder, { recursive: true });
      const target = place.engine === 'duckdb' ? `duckdb:///${place.address}` : place.address;
      return {
        file: path.join(bin, 'python'),
        args: [source('ingestr_orders.py'), folder, target, from, to],
        env: { DISABLE_TELEMETRY: 'true', RUNTIME__DLTHUB_TELEMETRY: 'false' },
      };
    },
  };
}

async function sling(dir: string): Promise<Peer> {
  const bin = await pythonWith(path.join(dir, 'sling'), [SLING, 'requests']);
  return {
    name: 'Sling, from files of the report',
    version: SLING,
    engines: ['postgres'],
    table: () => snakeTable('peer.orders'),
    load: ({ place, from, to, folder }) => {
      mkdirSync(folder, { recursive: true });
      return {
        file: path.join(bin, 'python'),
        args: [source('sling_orders.py'), folder, place.address, from, to],
      };
    },
  };
}

export const CONTESTANTS: Readonly<Record<string, (dir: string) => Peer | Promise<Peer>>> = {
  ours,
  plain,
  parquetjs,
  dlt,
  meltano,
  ingestr,
  sling,
};
