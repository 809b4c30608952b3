/** The text of a file with the mutant's change. */
import { parseAst } from 'rolldown/parseAst';
import type { Mutant } from './mutant-list.ts';

/** Of the syntax tree, as ESTree has it: what is looked at here. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Errors: where the file has not exactly one such function, or the function does not make such a call. */
export function mutated(mutant: Mutant, text: string, file: string): string {
  const program = parseAst(text, { lang: 'ts' }) as unknown as Node;
  const bodies = nodesIn(program).flatMap((node) => bodyOf(node, mutant.in));
  const [body] = bodies;
  if (body === undefined || bodies.length > 1)
    throw fault(mutant, `${file} has ${bodies.length} functions of this name`);
  const edits =
    'first' in mutant
      ? [{ start: body.start + 1, end: body.start + 1, text: ` ${mutant.first}` }]
      : callsIn(body, text, mutant.call).map(({ start, end }) => ({ start, end, text: `(${mutant.instead})` }));
  if (edits.length === 0) throw fault(mutant, `it does not call what is replaced, in ${file}`);
  return edited(text, edits);
}

function fault({ name, in: place }: Mutant, what: string): Error {
  return new Error(`mutant ${name}, ${place}: ${what}; fix test/proof/sim/mutant-list.ts`);
}

/** The body of a function of that name, where the node gives one its name. */
function bodyOf(node: Node, name: string): Node[] {
  const named = (node.id ?? node.key) as Node | null | undefined;
  if (named?.type !== 'Identifier' || named.name !== name) return [];
  const made = (node.init ?? node.value ?? node) as Node; // a variable's, a method's or property's, or its own
  const body = made.body as Node | undefined;
  return body?.type === 'BlockStatement' ? [body] : [];
}

/** What is called by that text, wherever it is called. */
function callsIn(body: Node, text: string, called: string): Node[] {
  return nodesIn(body)
    .filter(({ type }) => type === 'CallExpression')
    .map(({ callee }) => callee as Node)
    .filter(({ start, end }) => text.slice(start, end) === called);
}

/** The node and all nodes below it. */
function nodesIn(node: Node): Node[] {
  const below = Object.values(node).flatMap((value) => (Array.isArray(value) ? value : [value]));
  return [node, ...below.filter(isNode).flatMap(nodesIn)];
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

function edited(text: string, edits: readonly Edit[]): string {
  const backwards = [...edits].sort((a, b) => b.start - a.start);
  return backwards.reduce((now, { start, end, text: by }) => now.slice(0, start) + by + now.slice(end), text);
}
