/** What a day can be, as letter, word and sign. States differ by their sign too, for those who see no colours. */
import { CELL_LETTERS, type CellState } from '../model.ts';

interface Shown {
  /** What stands in the cell; a blank where the cell's own shape is the sign. */
  readonly sign: string;
  readonly meaning: string;
}

const SHOWN: Readonly<Record<CellState, Shown>> = {
  settled: { sign: '', meaning: 'loaded, and nothing in it can change any more' },
  open: { sign: 'o', meaning: 'loaded, and still changing' },
  drifted: { sign: '≠', meaning: 'loaded, with something in it that the contract does not know' },
  held: { sign: 'h', meaning: 'fetched and kept back until a person releases it' },
  failed: { sign: '!', meaning: 'the last request for it failed' },
  missing: { sign: '·', meaning: 'not loaded yet' },
  quiet: { sign: '–', meaning: 'nothing new came, and nothing had to' },
};

/** In the order of the legend. */
export const CELL_STATES = Object.keys(SHOWN) as CellState[];

export function signOf(state: CellState): string {
  return SHOWN[state].sign;
}

export function meaningOf(state: CellState): string {
  return SHOWN[state].meaning;
}

const BY_LETTER = new Map(CELL_STATES.map((state) => [CELL_LETTERS[state], state]));

export function stateOfLetter(letter: string): CellState | null {
  return BY_LETTER.get(letter) ?? null;
}
