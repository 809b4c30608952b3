/** The tables of the state database as kysely sees them; sql/state/tables.sql makes them and says what the types hold. */

/** The partner account where there is one. */
export const ACCOUNT = 'default';

type Json = string;
type Time = string;

export interface MemoTable {
  readonly account: string;
  readonly name: string;
  readonly value: Json;
  readonly noted_at: Time;
}

export interface StateTables {
  readonly state_version: { readonly version: number };
  readonly memo: MemoTable;
}
