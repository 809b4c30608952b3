/** An address of Postgres in the other spelling of libpq, to which DuckDB can add a password that is kept apart. */

/** Keywords by https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS; `password` is empty where there is none. */
export function connectionOf(address: string): { readonly password: string; readonly connection: string } {
  const url = new URL(address);
  const said = new Map([
    ['host', url.hostname.replace(/^\[(.*)\]$/, '$1')],
    ['port', url.port],
    ['user', url.username],
    ['dbname', url.pathname.slice(1)],
  ]);
  const keywords = new Map([...said].map(([name, value]) => [name, decodeURIComponent(value)]));
  for (const [name, value] of url.searchParams) keywords.set(name, value);
  const password = keywords.get('password') ?? decodeURIComponent(url.password);
  keywords.delete('password');
  const connection = [...keywords]
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}='${value.replace(/[\\']/g, '\\$&')}'`)
    .join(' ');
  return { password, connection };
}
