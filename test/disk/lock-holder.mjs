// Holds the lock file that it is given until it is ended, as another process of the program would; says so on stdout. When the
// file is held already it says that, and ends.
import { DuckDBInstance } from '@duckdb/node-api';

const [file] = process.argv.slice(2);
try {
  const instance = await DuckDBInstance.create(file, { threads: '1', memory_limit: '16MiB' });
  process.stdout.write('held\n');
  process.stdin.resume().on('end', () => instance.closeSync());
} catch {
  process.stdout.write('refused\n');
}
