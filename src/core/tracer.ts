/** How work tells what it consists of and how long each part takes. Whoever collects it decides how; the work never waits for it. */
export interface Tracer {
  /** Begins a part of the part in hand. */
  open(name: string, fields?: SpanFields): Span;
}

export interface Span {
  /** More that is known of it by now. */
  set(fields: SpanFields): void;
  /** Does something that belongs to this part: what `work` opens becomes a part of it. */
  within<T>(work: () => Promise<T>): Promise<T>;
  /** It failed with this, though nothing was thrown; nothing happens where there is no error. */
  fail(error: unknown): void;
  /** It is over. */
  end(): void;
}

/** What is known of a part; nothing that must not be seen. What is null is left out. */
export type SpanFields = Readonly<Record<string, string | number | null>>;

/** Does the work as a part of the part in hand; it has failed when the work throws. */
export async function spanning<T>(
  tracer: Tracer,
  name: string,
  fields: SpanFields,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = tracer.open(name, fields);
  try {
    return await span.within(() => work(span));
  } catch (error) {
    span.fail(error);
    throw error;
  } finally {
    span.end();
  }
}

const nothing = () => undefined;
const unseen: Span = { set: nothing, within: (work) => work(), fail: nothing, end: nothing };

/** Collects nothing. */
export const noTracer: Tracer = { open: () => unseen };
