/** Statements that somebody else wrote, an analyst's and checks, read the warehouse and no other file. */
import path from 'node:path';
import { type Engine, literalPath, quoteList } from '../../engine/duckdb.ts';

/** For as long as the engine is open: DuckDB does not take it back. Only these files may still be read, with others beside them, and what the warehouse itself lies in. */
export async function confine(engine: Engine, files: readonly string[] = []): Promise<void> {
  const folders = new Set(files.flatMap((file) => [file, literalPath(file)].map((one) => `${path.dirname(one)}/`)));
  if (folders.size > 0) {
    const { known } = await engine.row(`SELECT to_json(current_setting('allowed_directories')) AS known`);
    const all = [...(JSON.parse(String(known)) as string[]), ...folders];
    await engine.run(`SET allowed_directories = ${quoteList(all)}`);
  }
  await engine.run('SET enable_external_access = false');
  await engine.run('SET lock_configuration = true');
}
