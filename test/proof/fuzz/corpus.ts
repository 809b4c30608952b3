/** The corpus: a folder of files for each subject, each an input that is hostile in the way that its name says. It grows with every fault. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findPackage } from '../../../src/disk/package-root.ts';
import type { Subject } from './subject.ts';

export interface CorpusCase {
  /** What it is. */
  readonly name: string;
  readonly input: Uint8Array;
}

async function folderOf({ name }: Subject): Promise<string> {
  const { root } = await findPackage(import.meta.dirname);
  return path.join(root, 'test', 'proof', 'fuzz', 'corpus', name);
}

/** Its files, and what is too large for a file. */
export async function corpusOf(subject: Subject): Promise<CorpusCase[]> {
  const folder = await folderOf(subject);
  const names = (await readdir(folder)).sort();
  const files = names.map(async (name) => ({ name, input: await readFile(path.join(folder, name)) }));
  const large = Object.entries(subject.large ?? {}).map(([name, make]) => ({ name, input: make() }));
  return [...(await Promise.all(files)), ...large];
}

/** Keeps an input that failed, under a name to be replaced by one that says what it is; returns the file's. */
export async function keepInCorpus(subject: Subject, input: Uint8Array): Promise<string> {
  const folder = await folderOf(subject);
  await mkdir(folder, { recursive: true });
  const print = createHash('sha256').update(input).digest('hex').slice(0, 12);
  const file = path.join(folder, `found-${print}.${subject.extension}`);
  await writeFile(file, input);
  return file;
}
