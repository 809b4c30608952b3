/** Whether something has changed in places where runs leave traces, for a look at each of them instead of reading what lies there. */
import { stat } from 'node:fs/promises';

/**
 * Another text once a file has been replaced, or an entry of a folder has come or gone. What happens within the same tick of the
 * kernel's clock, some milliseconds, may look the same.
 */
export async function stampOf(places: readonly string[]): Promise<string> {
  const stamps = places.map((place) =>
    stat(place, { bigint: true }).then(
      ({ ino, mtimeNs }) => `${ino} ${mtimeNs}`,
      () => 'none',
    ),
  );
  return (await Promise.all(stamps)).join('\n');
}
