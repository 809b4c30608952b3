import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { moveIntoPlace, readIfThere, writeAtomic, writeJson } from '../../src/disk/atomic.ts';

let folder: string;
const at = (...names: string[]) => path.join(folder, ...names);
const modeOf = async (file: string) => (await stat(file)).mode & 0o777;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'etl-atomic-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a file that is written whole', () => {
  it.each<[string, string | Uint8Array]>([
    ['a text', 'Größe: 12,10 €\n'],
    ['bytes', Uint8Array.of(0, 255, 10, 13)],
    ['nothing', ''],
  ])('holds %s, in a folder that is made for it, with nothing beside it', async (_, data) => {
    await writeAtomic(at('a', 'b', 'file'), data);
    expect(await readFile(at('a', 'b', 'file'))).toEqual(Buffer.from(data));
    expect(await readdir(at('a', 'b'))).toEqual(['file']);
  });

  it('takes the place of the one before', async () => {
    await writeAtomic(at('file'), 'a long text that was there');
    await writeAtomic(at('file'), 'short');
    expect(await readFile(at('file'), 'utf8')).toBe('short');
    expect(await readdir(folder)).toEqual(['file']);
  });

  it('who reads the old one keeps it to its end', async () => {
    await writeFile(at('file'), 'old');
    const before = await stat(at('file'));
    await writeAtomic(at('file'), 'new');
    expect((await stat(at('file'))).ino).not.toBe(before.ino);
  });

  it.each([
    [undefined, 0o644],
    [0o600, 0o600],
  ])('with mode %o has that from the beginning', async (mode, wanted) => {
    await writeAtomic(at('file'), 'x', mode === undefined ? {} : { mode });
    expect(await modeOf(at('file'))).toBe(wanted);
  });

  it('with mode 0600 has it also in place of one that everybody could read', async () => {
    await writeFile(at('token.json'), 'x');
    await chmod(at('token.json'), 0o666);
    await writeJson(at('token.json'), { token: 'secret' }, { mode: 0o600 });
    expect(await modeOf(at('token.json'))).toBe(0o600);
  });

  it('as JSON reads back the same and ends in a line break', async () => {
    const value = { a: [1, null, 'ü'], b: { c: true } };
    await writeJson(at('file.json'), value);
    const text = await readFile(at('file.json'), 'utf8');
    expect(JSON.parse(text)).toEqual(value);
    expect(text.endsWith('}\n')).toBe(true);
  });
});

describe('a failure leaves what was there, and nothing else', () => {
  it('when a folder is in its place', async () => {
    await mkdir(at('file', 'inner'), { recursive: true });
    await expect(writeAtomic(at('file'), 'x')).rejects.toMatchObject({ code: expect.stringMatching(/^E/) });
    expect(await readdir(folder)).toEqual(['file']);
    expect(await readdir(at('file'))).toEqual(['inner']);
  });

  it('when a file is where its folder should be', async () => {
    await writeFile(at('file'), 'kept');
    await expect(writeAtomic(at('file', 'inner'), 'x')).rejects.toThrow();
    expect(await readFile(at('file'), 'utf8')).toBe('kept');
  });

  it('when the data cannot be written', async () => {
    await writeFile(at('file'), 'kept');
    await expect(writeAtomic(at('file'), { not: 'data' } as unknown as string)).rejects.toThrow();
    expect(await readFile(at('file'), 'utf8')).toBe('kept');
    expect(await readdir(folder)).toEqual(['file']);
  });
});

describe('a finished file', () => {
  it('is moved over what is there, into a folder that is made for it', async () => {
    await writeFile(at('made'), 'new');
    await moveIntoPlace(at('made'), at('deep', 'er', 'file'));
    await writeFile(at('made'), 'newer');
    await moveIntoPlace(at('made'), at('deep', 'er', 'file'));
    expect(await readFile(at('deep', 'er', 'file'), 'utf8')).toBe('newer');
    expect(await readdir(folder)).toEqual(['deep']);
  });

  it('that is not there is an error, and what lies in its place stays', async () => {
    await writeFile(at('file'), 'kept');
    await expect(moveIntoPlace(at('missing'), at('file'))).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await readFile(at('file'), 'utf8')).toBe('kept');
  });
});

describe('reading what may be missing', () => {
  it('gives the text, or null', async () => {
    await writeFile(at('file'), 'ü');
    expect(await readIfThere(at('file'))).toBe('ü');
    expect(await readIfThere(at('nothing'))).toBeNull();
    expect(await readIfThere(at('no', 'folder'))).toBeNull();
  });

  it('does not take another trouble for a missing file', async () => {
    await mkdir(at('folder'));
    await expect(readIfThere(at('folder'))).rejects.toMatchObject({ code: 'EISDIR' });
  });
});
