/** The limit of ingestion: DuckDB alone turns ready lines into the same Parquet files. Arguments: lines file, folder. */
import { mkdirSync } from 'node:fs';
import { orders } from '../../../pipelines/orders.ts';
import { DUCKDB_TYPE } from '../../../src/core/columns.ts';
import { Engine, quoteText } from '../../../src/engine/duckdb.ts';
import { RANGE } from './orders-answer.ts';

const [lines = '', folder = ''] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const engine = await Engine.open({ tempDir: `${folder}/spill`, memoryMiB: 2048 });
const columns = orders.columns.map((c) => `${quoteText(c.field)}: '${DUCKDB_TYPE[c.kind]}'`).join(', ');
const started = performance.now();
await engine.run(
  `COPY (SELECT * FROM read_json(${quoteText(lines)}, format = 'newline_delimited', records = true, columns = {${columns}})
     WHERE "orderDate" BETWEEN '${RANGE.from}' AND '${RANGE.to}') TO ${quoteText(`${folder}/all.parquet`)} (FORMAT parquet, COMPRESSION zstd)`,
);
process.stdout.write(JSON.stringify({ ms: Math.round(performance.now() - started) }));
engine.close();
