/** What every place for objects must do, whatever it is. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { Place } from '../../src/store/raw/places.ts';
import { gathered } from '../extract/lookup-scene.ts';

/** `scratch`: a folder for files that are put. */
export function placeConformance(newPlace: () => Promise<{ place: Place; scratch: string }>): void {
  let place: Place;
  let scratch: string;
  beforeEach(async () => {
    ({ place, scratch } = await newPlace());
  });

  const put = (name: string, text: string) => place.put(name, { bytes: Buffer.from(text) });
  const textOf = async (name: string) => Buffer.concat(await gathered(place.get(name))).toString();
  const names = async (prefix: string) => (await gathered(place.list(prefix))).map(({ name }) => name).sort();

  test('an object is there as it was put, from bytes or from a file, also over another one', async () => {
    await put('raw/a/1.json', 'one');
    const file = path.join(scratch, 'large');
    await writeFile(file, 'x'.repeat(3_000_000));
    await place.put('raw/a/2.json.gz', { file });
    expect([await textOf('raw/a/1.json'), (await textOf('raw/a/2.json.gz')).length]).toEqual(['one', 3_000_000]);
    await put('raw/a/1.json', 'two');
    expect(await textOf('raw/a/1.json')).toBe('two');
  });

  test('objects are listed by what their names begin with, with their sizes', async () => {
    expect(await names('raw/')).toEqual([]);
    for (const name of ['raw/a/1', 'raw/a/b/2', 'raw/ab/3', 'rest/4']) await put(name, name);
    expect(await names('raw/')).toEqual(['raw/a/1', 'raw/a/b/2', 'raw/ab/3']);
    expect(await names('raw/a')).toEqual(['raw/a/1', 'raw/a/b/2', 'raw/ab/3']);
    expect(await names('raw/a/')).toEqual(['raw/a/1', 'raw/a/b/2']);
    expect((await gathered(place.list('rest/')))[0]).toMatchObject({ name: 'rest/4', bytes: 6 });
  });

  test('an object that is deleted is gone, and to delete it again is nothing', async () => {
    await put('raw/a/1', 'one');
    for (const name of ['raw/a/1', 'raw/a/1', 'never/there']) await place.delete(name);
    expect(await names('raw/')).toEqual([]);
    const error = { code: 'no_object', message: expect.stringContaining('raw/a/1') };
    await expect(gathered(place.get('raw/a/1'))).rejects.toMatchObject(error);
  });
}
