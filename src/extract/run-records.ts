/** The files in which runs keep the records of their look-ups, read from where somebody left off. */
import { open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { FetchRecord } from '../core/records.ts';
import { RUN_RECORDS } from './fetch-order.ts';
import { recordIn } from './fetch-record.ts';

const LINE_FEED = 0x0a;

export interface RunRecords {
  readonly runId: string;
  readonly file: string;
  readonly bytes: number;
}

/** Those of a pipeline, oldest run first. `vaultRoot` is the folder of the vault. */
export async function runRecords(vaultRoot: string, pipeline: string): Promise<RunRecords[]> {
  const folder = path.join(vaultRoot, pipeline, 'fetches');
  const found: RunRecords[] = [];
  for (const month of await namesIn(folder))
    for (const name of await namesIn(path.join(folder, month)))
      if (name.endsWith(RUN_RECORDS)) {
        const file = path.join(folder, month, name);
        found.push({ runId: name.slice(0, -RUN_RECORDS.length), file, bytes: (await stat(file)).size });
      }
  return found.sort((a, b) => (a.runId < b.runId ? -1 : 1));
}

export interface ReadRecords {
  readonly records: readonly FetchRecord[];
  /** Up to where the file was read. */
  readonly bytes: number;
}

/**
 * The records behind byte `from`, in the order of completion, up to the end of the last whole line: a command may be writing the
 * next one. What is torn or damaged is left out, and `warn` is told.
 */
export async function readRecords(
  { file, bytes }: RunRecords,
  from: number,
  warn: (message: string) => void,
): Promise<ReadRecords> {
  const handle = await open(file, 'r');
  try {
    const buffer = Buffer.alloc(Math.max(0, bytes - from));
    for (let at = 0; at < buffer.length; ) {
      const { bytesRead } = await handle.read(buffer, at, buffer.length - at, from + at);
      if (bytesRead === 0) break;
      at += bytesRead;
    }
    const end = buffer.lastIndexOf(LINE_FEED) + 1;
    const lines = buffer
      .toString('utf8', 0, end)
      .split('\n')
      .filter((line) => line !== '');
    const records = lines.flatMap((line) => recordIn(line) ?? []);
    if (records.length < lines.length)
      warn(
        `${file} has ${lines.length - records.length} torn or damaged records, which are left out: what they told of is asked again`,
      );
    return { records, bytes: from + end };
  } finally {
    await handle.close();
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
}
