/** Which columns of a table stand on a terminal, and how wide: numbers are never cut, and what does not fit is left out by name. */

export interface Measured {
  /** Columns of the terminal that the widest cell takes, and the title. */
  readonly cells: number;
  readonly title: number;
  /** A number that is cut is another number. */
  readonly isNumber: boolean;
}

export interface Layout {
  /** Positions of the columns that are shown, in order. */
  readonly shown: readonly number[];
  /** How many of these stand in front of those that are left out. */
  readonly before: number;
  /** Of each column that is shown. */
  readonly widths: readonly number[];
}

export const GAP = '  ';
/** Stands where columns are left out. */
export const LEFT_OUT = '…';
/** A text is cut to this at the least: a day still shows. */
const LEAST_TEXT = 12;
/** Where the terminal is too narrow for even two columns, everything is cut to this. */
const NARROWEST = 6;

/** `available`: columns of a line. */
export function layoutOf(columns: readonly Measured[], available: number): Layout {
  const natural = columns.map(({ cells, title }) => Math.max(cells, title));
  const least = columns.map(({ cells, title, isNumber }) => {
    const heading = Math.min(title, LEAST_TEXT);
    return isNumber ? Math.max(cells, heading) : Math.max(Math.min(cells, LEAST_TEXT), heading);
  });
  const shown = columns.map((_, i) => i);
  let before = shown.length;
  const needed = (widths: readonly number[]) => shown.reduce((sum, i) => sum + widths[i]! + GAP.length, -GAP.length);
  const room = () => available - (shown.length < columns.length ? GAP.length + LEFT_OUT.length : 0);
  while (shown.length > 2 && needed(least) > room()) {
    const middle = shown.length >> 1;
    shown.splice(middle, 1);
    before = middle;
  }
  const isNarrow = needed(least) > room();
  const floor = isNarrow ? least.map((width) => Math.min(width, NARROWEST)) : least;
  const widths = squeezed(
    shown.map((i) => natural[i]!),
    shown.map((i) => floor[i]!),
    needed(natural) - room(),
  );
  return { shown, before, widths };
}

/** Takes `excess` from the widest, none below its floor. */
function squeezed(natural: readonly number[], floors: readonly number[], excess: number): number[] {
  const widths = [...natural];
  for (let left = excess; left > 0; left--) {
    const spare = widths.map((width, i) => (width > floors[i]! ? width : 0));
    const widest = Math.max(...spare);
    if (widest === 0) break;
    widths[spare.indexOf(widest)] = widest - 1;
  }
  return widths;
}
