/**
 * Erased values in texts, replaced by their marks.
 *
 * What a member of the contract holds is replaced where it is the value as a whole: a sub-ID in `subId`, an order in `orderId`, an
 * item in `orderItemId`, also every item of an erased order. The other members of the contract are left alone: a site or a product
 * that happens to be called like a sub-ID is not that person's. Anywhere else (members that nobody knows, messages, raw texts, addresses) a
 * value is also found inside a longer text, where no letter or digit adjoins it.
 */
import { childrenOf, type Pipeline } from '../../core/pipeline.ts';
import type { ErasedKind, Erasures } from './erasures.ts';
import { type Token, tokensOf } from './mask-tokens.ts';

/** What is looked for in the answers of a pipeline. */
export interface MaskScope {
  readonly kinds: readonly ErasedKind[];
  /** Members of the contract with the kind of value that each holds, null for none. */
  readonly members: ReadonlyMap<string, ErasedKind | null>;
}

export const ALL_KINDS: readonly ErasedKind[] = ['sub-id', 'order-id', 'order-item-id'];
const ORDER_KINDS: readonly ErasedKind[] = ['order-id', 'order-item-id'];

/** Columns of the reports that hold values that can be erased. */
export const ERASED_COLUMNS: ReadonlyMap<string, ErasedKind> = new Map([
  ['sub_id', 'sub-id'],
  ['order_id', 'order-id'],
  ['order_item_id', 'order-item-id'],
]);

const NO_MEMBERS: MaskScope['members'] = new Map();

/** Of texts that belong to no pipeline, or to all. */
export const ANY_SCOPE: MaskScope = { kinds: ALL_KINDS, members: NO_MEMBERS };

/** What may stand in a pipeline's answers; null for those of the catalogue and of settings, which tell of no person. */
function scopeOf({ source, columns }: Pipeline): MaskScope | null {
  if (source.isByRange)
    return {
      kinds: ALL_KINDS,
      members: new Map(columns.map(({ field, column }) => [field, ERASED_COLUMNS.get(column) ?? null])),
    };
  return source.isPushed ? { kinds: ORDER_KINDS, members: NO_MEMBERS } : null;
}

/** By the names of pipelines; a part has the scope of its whole. */
export function scopesOf(pipelines: readonly Pipeline[]): ReadonlyMap<string, MaskScope> {
  const scopes = new Map<string, MaskScope>();
  for (const pipeline of pipelines) {
    const scope = scopeOf(pipeline);
    if (scope) for (const one of [pipeline, ...childrenOf(pipelines, pipeline)]) scopes.set(one.name, scope);
  }
  return scopes;
}

/** A text in which nothing is quoted or structured; itself when nothing is found. */
export function maskText(erasures: Erasures, text: string, kinds: readonly ErasedKind[] = ALL_KINDS): string {
  const lengths = erasures.lengths(kinds).filter((chars) => chars <= text.length);
  if (lengths.length === 0) return text;
  const edges = edgesOf(text);
  let masked = '';
  let done = 0;
  for (const from of edges) {
    if (from < done) continue;
    const found = valueAt(erasures, text, from, { edges, lengths, kinds });
    if (!found) continue;
    masked += text.slice(done, from) + found.mark;
    done = from + found.chars;
  }
  return done === 0 ? text : masked + text.slice(done);
}

function valueAt(
  erasures: Erasures,
  text: string,
  from: number,
  { edges, lengths, kinds }: { edges: ReadonlySet<number>; lengths: readonly number[]; kinds: readonly ErasedKind[] },
) {
  for (const chars of lengths) {
    if (!edges.has(from + chars)) continue;
    const piece = text.slice(from, from + chars);
    for (const kind of kinds) {
      const mark = erasures.markOf(kind, piece);
      if (mark !== null) return { mark, chars };
    }
  }
  return null;
}

/** Places in a text at which a value may begin or end: not in the middle of a word. In order. */
function edgesOf(text: string): ReadonlySet<number> {
  const edges = new Set<number>();
  for (let at = 0; at <= text.length; at++)
    if (at === 0 || at === text.length || !isWord(text.charCodeAt(at - 1)) || !isWord(text.charCodeAt(at)))
      edges.add(at);
  return edges;
}

/** Digits, letters, `_` and `-`: `user-1` does not stand in `user-12`, nor in `user-1-b`. */
function isWord(code: number): boolean {
  const lower = code | 0x20;
  return (
    (code >= 0x30 && code <= 0x39) || (lower >= 0x61 && lower <= 0x7a) || code === 0x5f || code === 0x2d || code > 0x7f
  );
}

/** JSON, or what was meant to be some; itself when nothing is found. Only what is replaced is spelled anew. */
export function maskJson(erasures: Erasures, text: string, scope: MaskScope): string {
  const tokens = tokensOf(text, scope.members);
  const orderMarks = orderMarksIn(erasures, tokens, scope);
  let masked = '';
  let done = 0;
  for (const token of tokens) {
    const spelled = maskedToken(erasures, token, scope, orderMarks.get(token.object) ?? null);
    if (spelled === null) continue;
    masked += text.slice(done, token.at) + spelled;
    done = token.end;
  }
  return done === 0 ? text : masked + text.slice(done);
}

/** Objects that say which order they are part of, with its mark where it was erased. */
function orderMarksIn(erasures: Erasures, tokens: readonly Token[], { members }: MaskScope): Map<number, string> {
  const marks = new Map<number, string>();
  for (const { isName, member, object, content } of tokens) {
    if (isName || member === null || members.get(member) !== 'order-id') continue;
    const mark = erasures.markOf('order-id', content);
    if (mark !== null) marks.set(object, mark);
  }
  return marks;
}

/** Null where it stays as it is. What was a number becomes a string: a mark is none. */
function maskedToken(
  erasures: Erasures,
  { content, isString, isName, member }: Token,
  { kinds, members }: MaskScope,
  orderMark: string | null,
): string | null {
  if (!isName && member !== null && members.has(member)) {
    const kind = members.get(member)!;
    if (!kind || content === '') return null;
    const itemMark = orderMark === null ? null : erasures.itemMark(orderMark, content);
    const mark = kind === 'order-item-id' ? itemMark : erasures.markOf(kind, content);
    return mark === null ? null : JSON.stringify(mark);
  }
  const masked = isString ? maskText(erasures, content, kinds) : wholeMark(erasures, content, kinds);
  return masked === content ? null : JSON.stringify(masked);
}

function wholeMark(erasures: Erasures, content: string, kinds: readonly ErasedKind[]): string {
  for (const kind of kinds) {
    const mark = erasures.markOf(kind, content);
    if (mark !== null) return mark;
  }
  return content;
}
