// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are pieces of the program's text
/**
 * Faults that the program could have, each with a seed under which the simulation finds it: were one not found, the simulation
 * would not look where it should. A place is named by a function, so that its lines may be written otherwise.
 */
export type Mutant = Place &
  Change & {
    readonly name: string;
    /** What the program does wrong then. */
    readonly about: string;
    readonly seed: number;
    /** The seed is run against Postgres. */
    readonly isPostgres?: boolean;
  };

interface Place {
  readonly file: string;
  /** The function or method of this name, the only one in the file. */
  readonly in: string;
}

/** Text of the program: what it names is what has that name in the function. */
type Change =
  | {
      /** Every call of it in the function, also in functions within, goes to `instead`: an expression that is a function. */
      readonly call: string;
      readonly instead: string;
    }
  | {
      /** The statement that the function begins with. */
      readonly first: string;
    };

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'content-not-synced',
    about: 'a finished file is put into its place before its content is on the disk',
    file: 'src/disk/atomic.ts',
    in: 'moveIntoPlace',
    call: 'syncFile',
    instead: 'async () => undefined',
    seed: 2,
  },
  {
    name: 'folder-not-synced',
    about: 'a file is put into its place, and a power cut may forget it',
    file: 'src/disk/atomic.ts',
    in: 'moveIntoPlace',
    call: 'syncDir',
    instead: 'async () => undefined',
    seed: 2,
  },
  {
    name: 'warehouse-in-place',
    about: 'the warehouse is overwritten under its readers',
    file: 'src/warehouse/duckdb/warehouse-file.ts',
    in: 'putInPlace',
    call: 'moveIntoPlace',
    instead: 'copyFile',
    seed: 50,
  },
  {
    name: 'no-receipt',
    about: 'rows are loaded without their receipt',
    file: 'src/warehouse/bookkeeping.ts',
    in: 'recordPublication',
    call: 'recordReceipts',
    instead: 'async () => undefined',
    seed: 4,
  },
  {
    name: 'receipt-apart',
    about: 'rows are committed, and only then their receipts',
    file: 'src/warehouse/postgres/target.ts',
    in: 'load',
    call: 'recordPublication',
    instead:
      "async (...given) => { await client.query('COMMIT'); await client.query('BEGIN'); await recordPublication(...given); }",
    seed: 50,
    isPostgres: true,
  },
  {
    name: 'range-not-deleted',
    about: 'new rows of a day are added to the old ones',
    file: 'src/warehouse/duckdb/load.ts',
    in: 'replaceRows',
    call: 'engine.run',
    instead: "(sql) => (sql.startsWith('DELETE') ? 0 : engine.run(sql))",
    seed: 50,
  },
  {
    name: 'emptied-day-kept',
    about: 'only days that came back are replaced, so one that was emptied stays',
    file: 'src/normalise/normalise.ts',
    in: 'normaliseRows',
    call: 'days.map',
    instead: '(make) => days.filter((day) => contents.has(day)).map(make)',
    seed: 72,
  },
  {
    name: 'hold-applied',
    about: 'a day that collapsed is loaded and not held',
    file: 'src/run/window/window.ts',
    in: 'decide',
    call: 'guardSlice',
    instead: '() => null',
    seed: 184,
  },
  {
    name: 'token-outlived',
    about: 'a token is used after it has expired',
    file: 'src/partner/token/token.ts',
    in: 'isUsable',
    first: 'if (value !== this.rejected) return obtainedAtMs <= this.options.clock.now();',
    seed: 109,
  },
  {
    name: 'retry-after-ignored',
    about: 'after 429 it asks again when it likes to',
    file: 'src/partner/answer-headers.ts',
    in: 'retryAfterMs',
    first: "if (/^[0-9]/.test(value ?? '')) return null;",
    seed: 85,
  },
  {
    name: 'duplicates-not-counted',
    about: 'rows that came twice are dropped and not accounted for',
    file: 'src/normalise/normalise.ts',
    in: 'contentsOf',
    call: 'duplicates.get',
    instead: '() => 0',
    seed: 1816,
  },
  {
    name: 'digest-not-compared',
    about: 'a slice that was loaded once is taken for loaded, whatever it says now',
    file: 'src/warehouse/changes.ts',
    in: 'changedSlices',
    call: 'receiptsOf',
    instead: '(...given) => ({ get: (day) => (receiptsOf(...given).has(day) ? slice.content : undefined) })',
    seed: 50,
  },
  {
    name: 'answer-not-compared',
    about: 'a window that was applied once is taken for unchanged',
    file: 'src/run/window/checked.ts',
    in: 'isKnownAnswer',
    call: 'slices.get',
    instead:
      '(day) => { const entry = slices.get(day); return entry?.checked ? { ...entry, checked: { ...entry.checked, sha256 } } : entry; }',
    seed: 109,
  },
  {
    name: 'lock-not-taken',
    about: 'two runs are at work at once',
    file: 'src/run/session.ts',
    in: 'takeRunLock',
    call: 'context.locks.tryLock',
    instead: 'async () => ({ release: async () => undefined })',
    seed: 17,
  },
  {
    name: 'moved-item-twice',
    about: 'an item that moved is not taken out of its old day',
    file: 'src/run/window/moved.ts',
    in: 'amendLosers',
    first: 'return [];',
    seed: 8277,
  },
  {
    name: 'money-through-number',
    about: 'amounts pass through floating point',
    file: 'src/normalise/typing.ts',
    in: 'typedValue',
    call: 'decimalIn',
    instead: '(text) => `CAST(TRY_CAST(${text} AS DOUBLE) AS DECIMAL(18,6))`',
    seed: 50,
  },
  {
    name: 'lake-not-looked-at',
    about: 'what lies in the lake is asked for again',
    file: 'src/core/plan.ts',
    in: 'planBackfill',
    first: 'refetch = true;',
    seed: 4,
  },
  {
    name: 'file-fetched-once',
    about: 'a reductions file of another name is not fetched',
    file: 'src/run/sources/file.ts',
    in: 'requests',
    call: 'askName',
    instead: 'async (...given) => { const name = await askName(...given); return last ?? name; }',
    seed: 469,
  },
  {
    name: 'inbox-emptied-early',
    about: 'messages are taken out of the inbox before their rows are committed',
    file: 'src/run/sources/inbox.ts',
    in: 'received',
    call: 'applyLines',
    instead:
      'async (...given) => { await removeDeliveries(session.context.state, last); return applyLines(...given); }',
    seed: 44219,
  },
  {
    name: 'message-told-twice',
    about: 'a message that was delivered on another night is loaded once more',
    file: 'src/normalise/deliveries.ts',
    in: 'mergeMessages',
    call: 'engine.run',
    instead: '(sql) => engine.run(sql.includes(`TABLE ${names.known} AS`) ? `${sql} WHERE false` : sql)',
    seed: 62,
  },
  {
    name: 'history-forgotten',
    about: 'what order items were is not kept',
    file: 'src/run/window/history.ts',
    in: 'historyChanges',
    first: 'return [];',
    seed: 50,
  },
  {
    name: 'gone-taken-back',
    about: 'that an item was gone is forgotten when it turns up, also after a run had published it',
    file: 'src/normalise/history.ts',
    in: 'findAgain',
    call: 'unreadSince',
    instead: 'async () => (await unreadSince(), null)',
    seed: 500014,
  },
];
