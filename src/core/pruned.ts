/** How people are shown that an answer is gone because retention deleted it, and not damaged. */
export function prunedWords(prunedAt: string): string {
  return `pruned on ${prunedAt.slice(0, 10)}, by retention`;
}
