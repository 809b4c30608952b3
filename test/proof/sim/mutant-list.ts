// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are pieces of the program's text
/**
 * Faults that the program could have, each with a seed under which the simulation finds it: were one not found, the simulation
 * would not look where it should. `find` stands exactly once in the source, and once in what is compiled of it.
 */
export interface Mutant {
  readonly name: string;
  /** What the program does wrong then. */
  readonly about: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly seed: number;
  /** The seed is run against Postgres. */
  readonly isPostgres?: boolean;
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'content-not-synced',
    about: 'a finished file is put into its place before its content is on the disk',
    file: 'src/disk/atomic.ts',
    find: 'await syncFile(from);',
    replace: '',
    seed: 2,
  },
  {
    name: 'folder-not-synced',
    about: 'a file is put into its place, and a power cut may forget it',
    file: 'src/disk/atomic.ts',
    find: 'await syncDir(path.dirname(to));',
    replace: '',
    seed: 2,
  },
  {
    name: 'record-not-synced',
    about: 'small files are replaced, and a power cut may bring the old one back',
    file: 'src/disk/atomic.ts',
    find: 'await syncDir(dir);',
    replace: '',
    seed: 2,
  },
  {
    name: 'warehouse-in-place',
    about: 'the warehouse is overwritten under its readers',
    file: 'src/warehouse/duckdb/warehouse-file.ts',
    find: 'await moveIntoPlace(next, this.path);',
    replace: 'await copyFile(next, this.path);',
    seed: 50,
  },
  {
    name: 'no-receipt',
    about: 'rows are loaded without their receipt',
    file: 'src/warehouse/bookkeeping.ts',
    find: 'await recordReceipts(db, publication.run.run_id, loaded, at);',
    replace: '',
    seed: 4,
  },
  {
    name: 'receipt-apart',
    about: 'rows are committed, and only then their receipts',
    file: 'src/warehouse/postgres/target.ts',
    find: 'await recordPublication(db, publication, changed, at);',
    replace:
      "await client.query('COMMIT'); await client.query('BEGIN'); await recordPublication(db, publication, changed, at);",
    seed: 50,
    isPostgres: true,
  },
  {
    name: 'range-not-deleted',
    about: 'new rows of a day are added to the old ones',
    file: 'src/warehouse/duckdb/load.ts',
    find: 'await engine.run(`DELETE FROM ${table} WHERE ${onDays(pipeline.day, days)}`);',
    replace: '',
    seed: 50,
  },
  {
    name: 'emptied-day-kept',
    about: 'only days that came back are replaced, so one that was emptied stays',
    file: 'src/normalise/normalise.ts',
    find: 'const days = input.days ?? daysOf(range);',
    replace: 'const days = (input.days ?? daysOf(range)).filter((day) => contents.has(day));',
    seed: 72,
  },
  {
    name: 'hold-applied',
    about: 'a day that collapsed is loaded and not held',
    file: 'src/run/window.ts',
    find: 'const reason = guardSlice(entry?.content ?? null, content, context.guard);',
    replace: 'const reason = null;',
    seed: 184,
  },
  {
    name: 'token-outlived',
    about: 'a token is used after it has expired',
    file: 'src/partner/token.ts',
    find: 'return obtainedAtMs <= nowMs && nowMs < expiresAtMs - earlyMs;',
    replace: 'return obtainedAtMs <= nowMs;',
    seed: 109,
  },
  {
    name: 'retry-after-ignored',
    about: 'after 429 it asks again when it likes to',
    file: 'src/partner/answer-headers.ts',
    find: 'return positive(Math.ceil(Number(text) * 1000));',
    replace: 'return null;',
    seed: 85,
  },
  {
    name: 'duplicates-not-counted',
    about: 'rows that came twice are dropped and not accounted for',
    file: 'src/normalise/normalise.ts',
    find: 'duplicates: duplicates.get(name) ?? 0,',
    replace: 'duplicates: 0,',
    seed: 1816,
  },
  {
    name: 'digest-not-compared',
    about: 'a slice that was loaded once is taken for loaded, whatever it says now',
    file: 'src/warehouse/changes.ts',
    find: 'receiptsOf(loaded, pipeline.name).get(content.day) !== content.digest',
    replace: '!receiptsOf(loaded, pipeline.name).has(content.day)',
    seed: 50,
  },
  {
    name: 'answer-not-compared',
    about: 'a window that was applied once is taken for unchanged',
    file: 'src/run/checked.ts',
    find: 'const isSame = c?.sha256 === sha256 &&',
    replace: 'const isSame = c !== undefined &&',
    seed: 109,
  },
  {
    name: 'lock-not-taken',
    about: 'two runs are at work at once',
    file: 'src/run/session.ts',
    find: 'const lock = await context.locks.tryLock(RUN_LOCK, command);',
    replace: 'const lock = { release: async () => undefined };',
    seed: 17,
  },
  {
    name: 'moved-item-twice',
    about: 'an item that moved is not taken out of its old day',
    file: 'src/run/moved.ts',
    find: '!pipeline.key || files.length === 0',
    replace: 'true',
    seed: 8277,
  },
  {
    name: 'money-through-number',
    about: 'amounts pass through floating point',
    file: 'src/normalise/typing.ts',
    find: 'return decimalIn(text, form);',
    replace: 'return `CAST(TRY_CAST(${text} AS DOUBLE) AS DECIMAL(18,6))`;',
    seed: 50,
  },
  {
    name: 'lake-not-looked-at',
    about: 'what lies in the lake is asked for again',
    file: 'src/core/plan.ts',
    find: 'if (refetch)',
    replace: 'if (true)',
    seed: 4,
  },
  {
    name: 'file-fetched-once',
    about: 'a reductions file of another name is not fetched',
    file: 'src/run/reductions.ts',
    find: 'asked === (taken ?? plan.lastFile)',
    replace: 'plan.lastFile !== null',
    seed: 469,
  },
  {
    name: 'key-rotation-ignored',
    about: 'a message signed with a new key is refused without asking for the keys again',
    file: 'src/serve/signature-keys.ts',
    find: 'const fetch = this.refresh();',
    replace: 'const fetch = null; this.hasAnswered = true;',
    seed: 1395,
  },
  {
    name: 'inbox-emptied-early',
    about: 'a segment is taken out of the inbox before what it holds is committed',
    file: 'src/run/inbox.ts',
    find: "const result = await takeSegments(session, pipeline, stored, path.join(folder, 'taken'));",
    replace:
      "for (const { id } of stored.map((s) => ({ id: s.fetch_id }))) await forget(group.find((segment) => segment.id === id)); const result = await takeSegments(session, pipeline, stored, path.join(folder, 'taken'));",
    seed: 5570,
  },
  {
    name: 'message-told-twice',
    about: 'a message that was delivered on another night is loaded once more',
    file: 'src/normalise/deliveries.ts',
    find: '} SEMI JOIN ${TOUCHED} USING (${key})`',
    replace: '} SEMI JOIN ${TOUCHED} USING (${key}) WHERE false`',
    seed: 62,
  },
  {
    name: 'history-forgotten',
    about: 'the versions of order items are not kept',
    file: 'src/run/order-versions.ts',
    find: '!versions || telling.slices.length === 0',
    replace: 'true',
    seed: 4,
  },
  {
    name: 'gone-taken-back',
    about: 'that an item was gone is forgotten when it turns up, also after a run had published it',
    file: 'src/normalise/order-versions.ts',
    find: "'' : `AND k._from > ${instant(before)}`",
    replace: "'' : ''",
    seed: 500014,
  },
];
