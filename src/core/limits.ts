/** A limit on everything, in one place, with unit and reason. Settings may only tighten or widen what stands in config/. */
const KiB = 1024;
const MiB = 1024 * KiB;

export const LIMITS = {
  /** Bytes of one item of an answer. DuckDB allocates this twice for each thread that reads lines. */
  itemBytes: 4 * MiB,
  /** Nesting inside one item; real items are flat. */
  itemDepth: 64,
  /** Bytes of a rejected item that are kept beside its reason; the whole lies in the raw store. */
  rejectRawBytes: 64 * KiB,
  /** Bytes of one decoded answer: a stop for a service that never ends its body. */
  answerBytes: 64 * 1024 * MiB,
  /** Bytes of the decoded answer of one look-up, which is held in memory; a hundred commissions take some 15 KiB, a product some 20. */
  lookupAnswerBytes: 8 * MiB,
  /** Bytes of a decoded reductions file; real ones have some 13 MB. */
  reductionsFileBytes: 4096 * MiB,
  /** Bytes of an answer that is only a name. */
  nameBytes: 64 * KiB,
  /** Bytes of an error body that are read for its message. */
  errorBodyBytes: 16 * KiB,
  /** Bytes of the token service's answer. */
  tokenBodyBytes: 64 * KiB,
  /**
   * Memory that DuckDB may use before it spills to disk, unless the settings or a larger machine say more (src/engine/size.ts). Below 512
   * its JSON reader takes only one thread (5 s instead of 2.5 s for a million items); of the 512 it really takes some 340, and the
   * whole process stays under 700 MB.
   */
  engineMemoryMiB: 512,
  /** Bytes of the answer that lists subscriptions, keys, or tells a process status. */
  stateAnswerBytes: 1 * MiB,
  /** Characters of each text that names a push message; four of them and a time make a key of at most 2,700 bytes. */
  pushNameChars: 128,
  /** Characters of a link's address, which is a key too. */
  linkChars: 1000,
  /** Bytes of what lies behind a link. */
  linkAnswerBytes: 1 * MiB,
  /** Bytes of a statement for the warehouse. */
  sqlBytes: 1 * MiB,
  /** Days one request may cover at the most, whatever the settings say. */
  windowDays: 366,
  /** Milliseconds of the longest run: the settings allow a week. */
  runMs: 7 * 86_400_000,
} as const;
