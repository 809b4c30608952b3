/** The tables of the state database as kysely sees them; sql/state/tables.sql makes them and says what the types hold. */

type Json = string;
type Time = string;
type Flag = number;

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

export interface CheckHoldTable {
  readonly account: string;
  readonly target: string;
  readonly pipeline: string;
  readonly slice_day: string;
  readonly reason: string;
  readonly detail: string;
  readonly digest: string;
  readonly rows: number;
  readonly rows_before: number;
  readonly fetch_id: string;
  readonly held_at: Time;
  readonly check_name: string;
  readonly fix: string;
}

export interface ReleasedContentTable {
  readonly account: string;
  readonly digest: string;
  readonly released_at: Time;
}

export interface ScheduledTable {
  readonly account: string;
  readonly pipeline: string;
  readonly handled_until: Time;
  readonly due_at: Time | null;
  readonly started_at: Time | null;
  readonly finished_at: Time | null;
  readonly result: string | null;
  readonly run_id: string | null;
  readonly tries: number | null;
}

export interface InboxTable {
  readonly account: string;
  readonly delivery_id: string;
  readonly received_at: Time;
  readonly source_address: string;
  readonly key_id: string;
  readonly resource: string;
  readonly resource_id: string;
  readonly body_sha256: string;
  /** An ArrayBuffer when it comes from SQLite. */
  readonly body: Uint8Array;
}

export interface InboxSizeTable {
  readonly account: string;
  readonly messages: number;
  readonly body_bytes: number;
}

export interface RunTable {
  readonly account: string;
  readonly run_id: string;
  readonly command: string;
  readonly pipelines: Json;
  readonly started_at: Time;
  readonly ended_at: Time | null;
  readonly result: string | null;
  readonly exit_code: number | null;
  readonly summary: Json | null;
}

export interface DriftTable {
  readonly account: string;
  readonly run_id: string;
  readonly nth: number;
  readonly pipeline: string;
  readonly fetch_id: string;
  readonly kind: string;
  readonly field: string;
  readonly count: number;
  readonly example: string;
  /** Of a check: on which days, and what to do. */
  readonly found_by: Json | null;
}

export interface FetchTable {
  readonly account: string;
  readonly fetch_id: string;
  readonly seq: number;
  readonly run_id: string;
  readonly pipeline: string;
  readonly endpoint: string | null;
  readonly window_from: string | null;
  readonly window_to: string | null;
  readonly method: string;
  readonly url: string;
  readonly attempt: number;
  readonly started_at: Time;
  readonly finished_at: Time;
  readonly status: number | null;
  readonly content_type: string | null;
  readonly bytes_received: number;
  readonly bytes_decoded: number;
  readonly sha256: string | null;
  readonly raw_path: string | null;
  readonly line: number | null;
  readonly items: number | null;
  readonly outcome: string;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly notes: Json | null;
  readonly pruned_at: Time | null;
  readonly is_applied: number | null;
}

export interface AskedTable {
  readonly account: string;
  readonly pipeline: string;
  readonly key: Json;
  readonly asked_at: Time;
  readonly outcome: string;
  readonly misses: number;
}

/** What a slice holds, or what is held of it. */
interface ContentColumns {
  readonly account: string;
  readonly pipeline: string;
  readonly day: string;
  readonly digest: string;
  readonly rows: number;
  readonly rejects: number;
  readonly duplicates: number;
  readonly sums: Json;
  readonly settled: Flag;
  readonly version: number;
  readonly fetch_id: string;
  readonly fetched_at: Time;
  readonly key_min: string | null;
  readonly key_max: string | null;
  readonly file: string | null;
  readonly rejects_file: string | null;
}

export interface SliceTable extends ContentColumns {
  readonly moved: Flag;
  readonly checked_on: string | null;
  readonly checked_sha256: string | null;
  readonly checked_from: string | null;
  readonly checked_to: string | null;
}

export interface HoldTable extends ContentColumns {
  readonly reason: string;
  readonly detail: string;
  readonly rows_before: number;
  readonly held_at: Time;
}

export interface LakeCommitTable {
  readonly account: string;
  readonly commits: number;
}

export interface ErasureKeyTable {
  readonly account: string;
  readonly key: string;
}

export interface ErasedValueTable {
  readonly account: string;
  readonly kind: 'sub-id' | 'order-id' | 'order-item-id';
  readonly hmac: string;
  readonly chars: number;
  readonly mark: string;
}

export interface ErasureTable {
  readonly account: string;
  readonly erasure_id: string;
  readonly began_at: Time;
  readonly ended_at: Time | null;
  readonly is_complete: Flag;
  readonly asked: Json;
  readonly found: Json | null;
}

export interface StateTables {
  readonly state_version: { readonly version: number };
  readonly memo: MemoTable;
  readonly budget: BudgetTable;
  readonly token: TokenTable;
  readonly check_hold: CheckHoldTable;
  readonly released_content: ReleasedContentTable;
  readonly scheduled: ScheduledTable;
  readonly inbox: InboxTable;
  readonly inbox_size: InboxSizeTable;
  readonly run: RunTable;
  readonly drift: DriftTable;
  readonly fetch: FetchTable;
  readonly asked: AskedTable;
  readonly slice: SliceTable;
  readonly hold: HoldTable;
  readonly lake_commit: LakeCommitTable;
  readonly erasure_key: ErasureKeyTable;
  readonly erased_value: ErasedValueTable;
  readonly erasure: ErasureTable;
}
