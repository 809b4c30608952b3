/** The lines that were made of a reductions file, as records in the order of the file. */
import { readFile } from 'node:fs/promises';
import type { ReductionLines } from '../../src/extract/reduction-lines.ts';

type Line = Readonly<Record<string, string>>;

export async function madeLines(made: ReductionLines): Promise<{ readonly plain: Line[]; readonly all: Line[] }> {
  const textsOf = async (file: string) => (await readFile(file, 'utf8')).split('\n').slice(0, -1);
  const plain = (await textsOf(made.files.plain)).map((text) => plainLine(text, made));
  const others = (await textsOf(made.files.others)).map((text) => JSON.parse(text) as Line);
  return { plain, all: [...plain, ...others].sort((a, b) => Number(a._i) - Number(b._i)) };
}

function plainLine(text: string, { cells, delimiter }: ReductionLines): Line {
  const [number, ...values] = text.split(delimiter);
  const fields = cells.map((cell, i) => [cell, values[i]] as const).filter(([, value]) => value !== '');
  return { _i: number!, _raw: values.join(delimiter), ...Object.fromEntries(fields) };
}
