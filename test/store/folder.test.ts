import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FolderPlace } from '../../src/store/raw/folder.ts';
import { gathered } from '../extract/lookup-scene.ts';
import { placeConformance } from './places.ts';

async function newFolder() {
  const scratch = await mkdtemp(path.join(tmpdir(), 'etl-place-'));
  onTestFinished(() => rm(scratch, { recursive: true, force: true }));
  return { scratch, place: new FolderPlace(path.join(scratch, 'home')) };
}

placeConformance(newFolder);

test('what is being written beside its place is no object', async () => {
  const { scratch, place } = await newFolder();
  await mkdir(path.join(scratch, 'home/raw'), { recursive: true });
  await writeFile(path.join(scratch, 'home/raw/.1.json.0123.tmp'), 'half');
  expect(await gathered(place.list('raw/'))).toEqual([]);
});
