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

export interface BudgetTable {
  readonly account: string;
  readonly endpoint: string;
  readonly held_until: Time | null;
  readonly askers: Json;
}

export interface TokenTable {
  readonly account: string;
  readonly pair: string;
  readonly credentials: Json;
  readonly access_token: string | null;
  readonly obtained_at: Time | null;
  readonly expires_at: Time | null;
  readonly refusal: Json | null;
  readonly requested_at: Json;
  readonly paused_until: Time | null;
  readonly asking: Json | null;
}

export interface StateTables {
  readonly state_version: { readonly version: number };
  readonly memo: MemoTable;
  readonly budget: BudgetTable;
  readonly token: TokenTable;
}
