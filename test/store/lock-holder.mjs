// Holds a lock until it is ended, as another process of the program would; says so on stdout. When it is held already it says that, and
// ends. Arguments: `file <path of the lock file>`, or `postgres <address> <name>`.
const [kind, place, name] = process.argv.slice(2);
const isMine = await (kind === 'file' ? takeFile() : takeInPostgres());
process.stdout.write(isMine ? 'held\n' : 'refused\n');
if (isMine) process.stdin.resume().on('end', () => process.exit(0));
else process.exit(0);

async function takeFile() {
  const { default: Database } = await import('libsql');
  globalThis.held = new Database(place);
  try {
    globalThis.held.exec('BEGIN EXCLUSIVE');
    return true;
  } catch {
    return false;
  }
}

async function takeInPostgres() {
  const { default: pg } = await import('pg');
  const client = new pg.Client(place);
  await client.connect();
  const { rows } = await client.query('SELECT pg_try_advisory_lock(7215002, hashtext($1)) AS is_mine', [name]);
  return rows[0].is_mine;
}
