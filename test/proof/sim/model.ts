/**
 * What a warehouse must hold, worked out in the plainest way from what the service tells: for every day of a report all the states
 * in which it may be. After a run that went well there is one. After one that died or failed the old states and the new ones
 * are possible, whole days each, and never anything in between. It knows nothing of windows, lake, receipts or versions.
 */

/** The rows of one day, each as JSON with its fields in order, sorted; null: the day was never loaded. */
export type State = readonly string[] | null;
export type Truth = ReadonlyMap<string, readonly string[]>;

/** Whether a day had to be asked for. */
export type Asked = (day: string) => boolean;

export interface Seen {
  /** What the service told while the run went on, by day. */
  readonly truth: Truth;
  /** Days that the run had to ask for; any other it may have asked for. */
  readonly asked: Asked;
  /** Whether it came to a good end. */
  readonly wentWell: boolean;
}

/** A day with so many rows that has lost more than half of them is held back. */
export interface Guard {
  readonly minRows: number;
  readonly keepRatio: number;
}

export class Model {
  readonly days = new Map<string, State[]>();
  private readonly guard: Guard;
  /** The fields that name a row; none where rows have no name. */
  private readonly key: readonly string[];

  constructor(guard: Guard, key: readonly string[] = []) {
    this.guard = guard;
    this.key = key;
  }

  run({ truth, asked, wentWell }: Seen): void {
    for (const day of new Set([...this.days.keys(), ...truth.keys()])) {
      const told = truth.get(day) ?? [];
      const before = this.days.get(day) ?? [null];
      const older = before.flatMap((state) => this.left(state, day, truth));
      const newer = older.flatMap((state) => this.left(this.kept(state, told), day, truth));
      this.days.set(day, unique(wentWell && asked(day) ? newer : [...older, ...newer]));
    }
  }

  /** A person has looked at what is held of the day, and applies it. */
  release(day: string, told: readonly string[]): void {
    this.days.set(day, [told]);
  }

  /**
   * An item that is seen on another day has left this one, also where this one is not asked for: of those that are elsewhere now, what
   * it is with the items of any of the other days seen.
   */
  private left(state: State, day: string, truth: Truth): State[] {
    if (state === null || this.key.length === 0) return [state];
    const mine = new Set(state.map((row) => this.nameOf(row)));
    const states: State[] = [state];
    for (const [other, rows] of truth) {
      const moved = new Set(other === day ? [] : rows.map((row) => this.nameOf(row)).filter((name) => mine.has(name)));
      const without = (one: State) => one?.filter((row) => !moved.has(this.nameOf(row))) ?? null;
      if (moved.size > 0) states.push(...states.map(without));
    }
    return states;
  }

  private kept(state: State, told: readonly string[]): State {
    const isHeld = state && state.length >= this.guard.minRows && told.length < state.length * this.guard.keepRatio;
    return isHeld ? state : told;
  }

  private nameOf(row: string): string {
    const fields = JSON.parse(row) as Record<string, string>;
    return this.key.map((field) => fields[field]).join(' ');
  }
}

function unique(states: readonly State[]): State[] {
  return [...new Map(states.map((state) => [JSON.stringify(state), state])).values()];
}

/** A value of either side as text: amounts without zeros at their end. */
export function plain(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const text = String(value);
  if (/^-?\d[\d.]*e[-+]?\d+$/i.test(text)) return String(Number(text));
  return /^-?\d+\.\d+$/.test(text) ? text.replace(/\.?0+$/, '') : text;
}
