/** Which questions somebody may mean by a number or some words. */

export interface Known {
  readonly number: number;
  readonly slug: string;
  readonly question: string;
}

/**
 * Those that have all of the words, or beginnings of them, in the question or in the name of its file; a question said in full is alone.
 * Where none has all of them: those that have most, if that is more than half.
 */
export function candidates<Q extends Known>(questions: readonly Q[], said: string): readonly Q[] {
  if (/^\s*\d+\s*$/.test(said)) return questions.filter(({ number }) => number === Number(said));
  const wanted = [...new Set(wordsOf(said))];
  const exact = questions.filter(({ slug, question }) => [slug, question].some((text) => sameWords(text, said)));
  if (exact.length > 0 || wanted.length === 0) return exact;
  const hits = questions.map(({ slug, question }) => {
    const there = wordsOf(`${question} ${slug}`);
    return wanted.filter((word) => there.some((one) => one.startsWith(word))).length;
  });
  const most = Math.max(...hits);
  return most * 2 > wanted.length ? questions.filter((_, i) => hits[i] === most) : [];
}

function sameWords(one: string, other: string): boolean {
  return wordsOf(one).join(' ') === wordsOf(other).join(' ');
}

/** `sub-IDs` and `sub ids` are the same words. */
function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
