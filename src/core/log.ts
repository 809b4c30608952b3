import type { Concern } from './errors.ts';

/**
 * The log as the program's parts see it: a message and fields. Who writes it, and in which shape, is app's matter.
 *
 * Wherever a line is about one of these, it says so under this name, so that all lines about it can be found:
 *   run        id of the run
 *   pipeline   its name
 *   slice      the day, or the first and the last day of a window: `2026-03-01`, `2026-03-01..2026-03-07`
 *   request    id of the request, which is that of the fetch and was sent as X-Request-Id
 */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** The same log, each of whose lines has these fields too. What a line says itself counts more. */
export function logWith(log: Log, fields: Readonly<Record<string, unknown>>): Log {
  const at =
    (level: keyof Log) =>
    (message: string, more: Record<string, unknown> = {}) =>
      log[level](message, { ...fields, ...more });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** A field of a line about an error that the command tells people when it ends: as text it is said there, with its fix, and once. */
export const SAID_AT_END = Symbol('said at the end');

/** What an error concerns, as fields of a line. */
export function fieldsAbout({ pipeline, day, window, requestId, target, file }: Concern): Record<string, string> {
  const [from, to = from] = window?.split('..') ?? [];
  const slice = day ?? (from && to && sliceText(from, to));
  const fields = { pipeline, slice, request: requestId, target, file };
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
  );
}

/** Days as a line names them. */
export function sliceText(from: string, to: string): string {
  return from === to ? from : `${from}..${to}`;
}
