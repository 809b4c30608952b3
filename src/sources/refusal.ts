/**
 * What an answer says that refuses a look-up: its reason, and the EANs that it names. Any content type, any shape.
 *
 * The reason becomes part of a version, so it must be the same as long as nothing changed: of a problem document only title,
 * detail and violations count, and what differs from call to call (instants, request ids) is taken out.
 */

import { foreignText } from '../core/redact.ts';
import { type ExactJson, type ExactObject, isExactArray, isExactObject, parseExact } from '../json/exact-json.ts';
import type { Refusal } from './batches.ts';

const REASON_CHARACTERS = 300;

/** Instants as in ISO 8601, HTTP headers and clocks; UUIDs; trace ids of sixteen hex digits or more. */
const PASSING = [
  /\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:Z\b|UTC\b|GMT\b|[+-]\d{2}:?\d{2}\b)?/gi,
  /\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? \d{1,2} [a-z]{3} \d{4} \d{2}:\d{2}:\d{2}(?: gmt| utc)?/gi,
  /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi,
  /\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{16,}\b/gi,
];

/** `eans`: those that were asked for. A violation that names some is believed before the rest of the text. */
export function refusalOf(status: number, bodyText: string, eans: readonly string[]): Refusal {
  const problem = problemOf(bodyText);
  const violations = problem === null ? [] : violationsOf(problem);
  const asked = new Set(eans);
  const reasons = new Map<string, string>();
  for (const { name, reason } of violations)
    for (const ean of numbersIn(`${name} ${reason}`))
      if (asked.has(ean) && !reasons.has(ean)) reasons.set(ean, stable(reason === '' ? name : reason));
  const inText = [...new Set(numbersIn(bodyText))].filter((ean) => asked.has(ean));
  // A body that only repeats the request names every EAN of it, and so none.
  const isEcho = eans.length > 1 && inText.length === asked.size;
  const named = reasons.size > 0 ? [...reasons.keys()] : isEcho ? [] : inText;
  return { status, reason: reasonOf(status, bodyText, problem, violations), named, reasons };
}

/** What an error answer says for itself, in at most 300 characters. */
export function refusalReason(status: number, bodyText: string): string {
  const problem = problemOf(bodyText);
  return reasonOf(status, bodyText, problem, problem === null ? [] : violationsOf(problem));
}

interface Violation {
  readonly name: string;
  readonly reason: string;
}

function reasonOf(
  status: number,
  bodyText: string,
  problem: ExactObject | null,
  violations: readonly Violation[],
): string {
  const said =
    problem === null ? [] : ['title', 'detail', 'error', 'error_description'].map((name) => textOf(problem.get(name)));
  const breaches = violations.map(({ name, reason }) => [name, reason].filter((part) => part !== '').join(': '));
  const parts = [...new Set([...said, ...breaches].filter((part) => part !== ''))];
  const text = parts.length > 0 ? parts.join('; ') : problem === null ? withoutTags(bodyText) : '';
  const reason = stable(text);
  return reason === '' ? `HTTP ${status}` : reason;
}

function problemOf(bodyText: string): ExactObject | null {
  try {
    const value = parseExact(bodyText);
    return isExactObject(value) ? value : null;
  } catch {
    return null; // HTML or text
  }
}

function violationsOf(problem: ExactObject): Violation[] {
  const violations = problem.get('violations');
  if (!isExactArray(violations)) return [];
  return violations.filter(isExactObject).map((violation) => ({
    name: textOf(violation.get('name')),
    reason: textOf(violation.get('reason')),
  }));
}

function textOf(value: ExactJson | undefined): string {
  return typeof value === 'string' ? value.trim() : '';
}

function numbersIn(text: string): string[] {
  return text.match(/[0-9]+/g) ?? [];
}

/** An error page tells what it has to tell at its beginning. */
const PAGE_CHARACTERS = 16 * 1024;

function withoutTags(text: string): string {
  return text
    .slice(0, PAGE_CHARACTERS)
    .replace(/<(style|script)\b[\s\S]*?<\/\1\s*>/gi, ' ')
    .replace(/<[^<>]*>/g, ' ');
}

function stable(text: string): string {
  let rest = text;
  for (const pattern of PASSING) rest = rest.replace(pattern, '');
  return foreignText(rest, [], REASON_CHARACTERS);
}
