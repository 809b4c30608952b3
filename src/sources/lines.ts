/**
 * Writes records as lines of JSON, as the splitter writes those of reports: every value as text or absent, `_i` the number of the
 * row, `_x` unknown members, `_b` a value of the wrong type. Besides: `_f` the fetch, `_n` the place in its answer where that is
 * another number, `_raw` the record as sent, and in a child's lines `_p` the number of its parent's row.
 */
import path from 'node:path';
import { type Day, dayAt } from '../core/days.ts';
import { LIMITS } from '../core/limits.ts';
import type { DriftRecord, FetchRecord } from '../core/records.ts';
import { foreignText } from '../core/redact.ts';
import { FileSink } from '../disk/sink.ts';
import { type ExactJson, storableText } from '../json/exact-json.ts';

/** Which fetch brought a row, and when. */
export interface FetchStamp {
  readonly fetchId: string;
  /** In the service's time zone. */
  readonly observedOn: Day;
  /** ISO 8601, UTC. */
  readonly observedFrom: string;
  /** Number of the answer's first row or reject. Which answers stand before it is chance; the place in it is not. */
  readonly firstItem: number;
}

/** Of that fetch; `firstItem` as in FetchStamp, `timeZone` is the service's. */
export function stampOf(
  { fetch_id: fetchId, finished_at: observedFrom }: FetchRecord,
  timeZone: string,
  firstItem: number,
): FetchStamp {
  return { fetchId, observedFrom, observedOn: dayAt(Date.parse(observedFrom), timeZone), firstItem };
}

/**
 * A line in the making. As text from the beginning: through objects it took 18 µs a line instead of 6.
 * Keys are those of the declarations and need no escapes.
 */
export class Line {
  readonly item: number;
  private text: string;

  constructor(item: number, { fetchId, observedOn, observedFrom, firstItem }: FetchStamp) {
    this.item = item;
    const place = firstItem === 0 ? '' : `"_n":"${item - firstItem}",`;
    this.text = `{"_i":"${item}",${place}"_f":"${fetchId}","observedOn":"${observedOn}","observedFrom":"${observedFrom}"`;
  }

  put(key: string, value: string): this {
    this.text += `,"${key}":${JSON.stringify(value)}`;
    return this;
  }

  /** A value without characters that JSON escapes, such as a number's text. */
  putPlain(key: string, value: string): this {
    this.text += `,"${key}":"${value}"`;
    return this;
  }

  ended(): string {
    return `${this.text}}`;
  }
}

/** A record that cannot become a row, as a line of JSON. */
export interface RejectLine {
  readonly fetch_id: string;
  /** Its place in the answer, where it is numbered together with the rows of the same pipeline. */
  readonly item: number;
  /** Day of the answer, in the service's time zone. */
  readonly day: Day;
  readonly reason: string;
  readonly detail: string;
  /** As sent, cut at LIMITS.rejectRawBytes. */
  readonly raw: string;
}

/** A file of lines, and what its reader must know. */
export interface LineFile {
  readonly file: string;
  readonly lines: number;
  readonly longestLineBytes: number;
}

/** A file that is written line by line; nothing goes to the disk before `flush`. */
export class LineSink {
  readonly file: string;
  private readonly sink: FileSink;
  private waiting: string[] = [];
  private lines = 0;
  private longestBytes = 0;

  private constructor(file: string, sink: FileSink) {
    this.file = file;
    this.sink = sink;
  }

  /** Opens `<name>.ndjson` in the folder; what was in it is gone. */
  static async open(folder: string, name: string): Promise<LineSink> {
    const file = path.join(folder, `${name}.ndjson`);
    return new LineSink(file, await FileSink.open(file));
  }

  put(line: Line | RejectLine): void {
    const text = line instanceof Line ? line.ended() : JSON.stringify(line);
    this.lines++;
    this.longestBytes = Math.max(this.longestBytes, Buffer.byteLength(text) + 1);
    this.waiting.push(text, '\n');
  }

  /** Resolves at once as long as the disk keeps up. */
  async flush(): Promise<void> {
    if (this.waiting.length === 0) return;
    const bytes = Buffer.from(this.waiting.join(''));
    this.waiting = [];
    await this.sink.write(bytes);
  }

  async close(): Promise<LineFile> {
    try {
      await this.flush();
    } finally {
      await this.sink.close();
    }
    return { file: this.file, lines: this.lines, longestLineBytes: this.longestBytes };
  }
}

/** Names that are counted one by one; the rest goes under `…`, or an answer could fill the memory with them. */
const NAMES_KEPT = 200;
const NAME_CHARACTERS = 100;
const EXAMPLE_CHARACTERS = 100;

/** Counts where answers differ from the contract without being wrong: one record for each kind and field, with the first fetch. */
export class DriftCounts {
  private readonly pipeline: string;
  private readonly counts = new Map<string, DriftRecord & { count: number }>();

  constructor(pipeline: string) {
    this.pipeline = pipeline;
  }

  add(fetchId: string, kind: string, name: string, example: string, times = 1): void {
    const known = this.counts.get(`${kind} ${name}`);
    if (known) {
      known.count += times;
      return;
    }
    const field = this.counts.size < NAMES_KEPT ? name : '…';
    const key = `${kind} ${field}`;
    const rest = this.counts.get(key);
    if (rest) rest.count += times;
    else
      this.counts.set(key, {
        pipeline: this.pipeline,
        fetch_id: fetchId,
        kind,
        field: foreignText(field, [], NAME_CHARACTERS),
        count: times,
        example: foreignText(example, [], EXAMPLE_CHARACTERS),
      });
  }

  /** JSON text that every warehouse can hold; what had to be fixed for it is counted. */
  jsonText(fetchId: string, field: string, value: ExactJson): string {
    return storableText(value, (number) => this.add(fetchId, 'huge_number', field, number));
  }

  report(): DriftRecord[] {
    return [...this.counts.values()];
  }
}

/** A text cut to so many bytes of UTF-8 as a reject keeps. */
export function rejectRaw(text: string): string {
  const limit = LIMITS.rejectRawBytes;
  if (text.length * 3 <= limit) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let end = limit;
  // A byte of the form 10xxxxxx goes on with the character before it.
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
