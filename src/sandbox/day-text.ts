/** Days as text, remembered: a file or a bulk answer writes the same few hundred days over and over. */
import { type Day, dayOfNumber } from '../core/days.ts';

/** More days than any answer holds; only a clock that is set about a lot meets more, and begins anew. */
const REMEMBERED = 10_000;

const known = new Map<number, Day>();

/** `yyyy-mm-dd` of a day number. */
export function dayText(number: number): Day {
  const text = known.get(number);
  if (text !== undefined) return text;
  if (known.size >= REMEMBERED) known.clear();
  const made = dayOfNumber(number);
  known.set(number, made);
  return made;
}
