/** What is wrong with the settings, all at once: where, which key, what stands there, what is accepted. */
import { EtlError } from '../core/errors.ts';
import { redact } from '../core/redact.ts';

export interface Problem {
  /** `config/local.yaml:12`, or `environment`. */
  readonly where: string;
  /** Key path or variable; absent where the file as a whole is meant. */
  readonly key?: string;
  /** As it may be shown; absent where it must not be. */
  readonly value?: string;
  /** What is accepted there, or what to do. */
  readonly accepted: string;
}

const LONGEST_VALUE = 60;
const SECRET_KEY = /secret|passw|passphrase|api_?-?key|private_?-?key|bearer|client_?-?id|access_?-?token/i;

/** Whether a key's name speaks of something that must not stand in a settings file. */
export function looksSecret(key: string): boolean {
  return SECRET_KEY.test(key);
}

/** A value as an error may show it; undefined where it might be, or hold, a secret (`secrets`: those that are known). */
export function showValue(value: unknown, secrets: readonly string[]): string | undefined {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value);
  if (redact(text, secrets) !== text) return undefined;
  // An address with a user, a token, or base64: whoever put it there may not want to see it in a log.
  if (/:\/\/[^/]*@|eyJ[\w-]+\.|[\w+=-]{28,}/.test(text)) return undefined;
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}

export function refuse(problems: readonly Problem[]): EtlError {
  const lines = problems.map(({ where, key, value, accepted }) => {
    const subject = [key, value].filter((part) => part !== undefined).join(' = ');
    return [where, subject, accepted].filter((part) => part !== '').join(': ');
  });
  const message = lines.length === 1 ? lines[0]! : [`${lines.length} settings are wrong`, ...lines].join('\n');
  return new EtlError('usage', 'bad_setting', message, {
    hint: 'config/default.yaml explains every setting; partner-etl doctor checks them again',
  });
}
