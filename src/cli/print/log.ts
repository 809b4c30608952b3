/** The log on stderr: as text warnings and errors, or everything with --verbose; as JSON lines everything, for programs. */
import { pino } from 'pino';
import { type Clock, isoTime } from '../../core/clock.ts';
import { type Log, SAID_AT_END } from '../../core/log.ts';
import { escapedJson, foreignText, redact } from '../../core/redact.ts';
import type { Screen } from './screen.ts';

export const LOG_FORMATS = ['text', 'json'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export interface Verbosity {
  readonly verbose: boolean;
  readonly quiet: boolean;
  /** How everything on stderr is written, and not the log alone: a program that reads it must find no line of another kind. */
  readonly format: LogFormat;
}

export interface LogOptions extends Verbosity {
  readonly screen: Screen;
  readonly clock: Clock;
  /** Asked at every line, since settings bring more secrets while the program runs. */
  readonly secrets: () => readonly string[];
}

const LONGEST_LINE = 500;

export function createLog(options: LogOptions): Log {
  return options.format === 'text' ? plainLog(options) : jsonLog(options);
}

function jsonLog({ screen, clock, secrets, verbose, quiet }: LogOptions): Log {
  const level = verbose ? 'debug' : quiet ? 'error' : 'info';
  const logger = pino(
    {
      level,
      base: { pid: process.pid },
      messageKey: 'message',
      timestamp: () => `,"time":"${isoTime(clock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => screen.print(escapedJson(redact(line.trimEnd(), secrets()))) },
  );
  const at =
    (name: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: Record<string, unknown> = {}) =>
      logger[name](plainFields(fields), message);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function plainLog({ screen, secrets, verbose, quiet }: LogOptions): Log {
  const say =
    (word: string) =>
    (message: string, fields: Record<string | symbol, unknown> = {}) => {
      if (fields[SAID_AT_END] === true) return;
      const { fix, ...others } = plainFields(fields);
      const known = Object.entries(others).map(([name, value]) => `${name}=${asText(value)}`);
      const details = known.length === 0 ? '' : ` (${known.join(' ')})`;
      screen.print(foreignText(`${word}: ${message}${details}`, secrets(), LONGEST_LINE));
      if (fix !== undefined) screen.print(`  fix: ${foreignText(asText(fix), secrets(), LONGEST_LINE)}`);
    };
  const nothing = () => undefined;
  return {
    debug: verbose ? say('debug') : nothing,
    info: verbose ? say('info') : nothing,
    warn: quiet && !verbose ? nothing : say('warning'),
    error: say('error'),
  };
}

/** Errors as their message and code: a stack belongs to --verbose, where the failure itself is printed. */
function plainFields(fields: Record<string, unknown>): Record<string, unknown> {
  const plain = Object.entries(fields).map(([name, value]) => {
    if (typeof value === 'bigint') return [name, value.toString()];
    if (!(value instanceof Error)) return [name, value];
    const { code } = value as { code?: unknown };
    return [name, typeof code === 'string' ? `${code}: ${value.message}` : value.message];
  });
  return Object.fromEntries(plain) as Record<string, unknown>;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
}
