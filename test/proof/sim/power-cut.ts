/**
 * What a power cut leaves of what a process did to files: what was not synced is lost as far as the seed wants it.
 *
 * The model is that of a journalling file system. Content that was not synced ends anywhere, at the earliest where it ended at its
 * last sync. Names change in the order in which they were changed in their folder, and the last changes of a folder may be
 * missing unless it was synced. A folder itself is there once anything in it is: such file systems write a folder's ancestors along.
 */
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { type FileNote, identity } from './file-watch.ts';
import type { Random } from './random.ts';

interface Content {
  syncedBytes: number;
  isDirty: boolean;
}

type NameChange = Extract<FileNote, { op: 'create' | 'link' | 'rename' | 'remove' }>;

/** Spoils the home as the notes allow it; returns what was lost, in words. */
export function cutPower(notesFile: string, home: string, random: Random): string[] {
  const notes = readNotes(notesFile);
  const contents = new Map<string, Content>();
  const changes = new Map<string, NameChange[]>();
  const places = new Map<string, string>();
  for (const note of notes) {
    if (note.op === 'sync-dir') changes.delete(note.path);
    if ('ino' in note) takeContent(contents, note);
    if ('ino' in note) places.set(note.ino, note.path);
    if (note.op === 'create' || note.op === 'link' || note.op === 'rename' || note.op === 'remove') {
      const folder = path.dirname(note.path);
      changes.set(folder, [...(changes.get(folder) ?? []), note]);
    }
  }
  const lost: string[] = [];
  const short = (file: string) => path.relative(home, file);
  for (const [folder, pending] of changes) {
    if (folder.startsWith(path.join(home, 'work'))) continue;
    const survive = random.int(0, pending.length);
    for (const change of pending.slice(survive).reverse())
      if (undo(change)) lost.push(`${change.op} ${short(change.path)}`);
  }
  for (const [ino, { syncedBytes, isDirty }] of contents) {
    const file = places.get(ino);
    if (!isDirty || file === undefined || file.startsWith(path.join(home, 'work'))) continue;
    if (!existsSync(file) || identity(statSync(file)) !== ino) continue;
    const { size } = statSync(file);
    if (size <= syncedBytes) continue;
    const left = random.chance(0.3) ? syncedBytes : random.int(syncedBytes, size - 1);
    truncateSync(file, left);
    lost.push(`${size - left} of ${size} bytes of ${short(file)}`);
  }
  return lost;
}

/** What the process died at, as it noted itself. */
export function diedAt(notesFile: string): string {
  if (!existsSync(notesFile)) return '';
  const lines = readFileSync(notesFile, 'utf8').trim().split('\n');
  const last = lines.findLast((line) => line.startsWith('{"op":"died"'));
  return last === undefined ? '' : String((JSON.parse(last) as { what: string }).what);
}

function readNotes(file: string): FileNote[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines
    .filter((line) => line !== '' && !line.startsWith('{"op":"died"'))
    .map((line) => JSON.parse(line) as FileNote);
}

function takeContent(contents: Map<string, Content>, note: Extract<FileNote, { ino: string }>): void {
  const known = contents.get(note.ino);
  // What was moved or linked into its place without a write that was seen was written by an engine, which syncs nothing.
  if (note.op === 'rename' || note.op === 'link') contents.set(note.ino, known ?? { syncedBytes: 0, isDirty: true });
  else if (note.op === 'sync') contents.set(note.ino, { syncedBytes: note.bytes, isDirty: false });
  else contents.set(note.ino, { syncedBytes: note.op === 'create' ? 0 : (known?.syncedBytes ?? 0), isDirty: true });
}

/** False where the name has gone on since. */
function undo(change: NameChange): boolean {
  const { path: file } = change;
  if (change.op === 'remove') {
    if (existsSync(file)) return false;
    mkdirSync(path.dirname(file), { recursive: true });
    linkSync(change.old, file);
    return true;
  }
  if (!existsSync(file) || identity(statSync(file)) !== change.ino) return false;
  if (change.op === 'create' || change.op === 'link') rmSync(file);
  else {
    mkdirSync(path.dirname(change.from), { recursive: true });
    renameSync(file, change.from);
    if (change.old !== null) linkSync(change.old, file);
  }
  return true;
}
