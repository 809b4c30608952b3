/** The repository's own source files, and their text without comments and strings, for the tests that look at them. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const REPOSITORY = path.resolve(import.meta.dirname, '../..');

export interface Source {
  /** Relative to the repository, with slashes. */
  readonly file: string;
  readonly text: string;
}

/** Every file below these folders (or these files themselves) with one of these endings. */
export function sourcesIn(places: readonly string[], endings: readonly string[] = ['.ts']): Source[] {
  return places.flatMap((place) => {
    const entries = readdirSync(path.join(REPOSITORY, place), { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
      .map((entry) => {
        const absolute = path.join(entry.parentPath, entry.name);
        const file = path.relative(REPOSITORY, absolute).split(path.sep).join('/');
        return { file, text: readFileSync(absolute, 'utf8') };
      });
  });
}

export interface Import {
  /** Relative to the repository, with slashes, or the name of a package. */
  readonly target: string;
  /** Only types come from there: it is gone when the program runs. */
  readonly isType: boolean;
}

const IMPORT =
  /\b(?:import|export)\s+((?:type\s)?[^;'"]*?)\bfrom\s*'([^']+)'|\bimport\s*\(\s*'([^']+)'\s*\)|\bimport\s+'([^']+)'/g;
const ONLY_TYPES = /^(?:type\s|\{\s*type\s[^,}]*(?:,\s*type\s[^,}]*)*,?\s*\}\s*$)/;

export function importsOf({ file, text }: Source): Import[] {
  return [...withoutComments(text).matchAll(IMPORT)].map((match) => {
    const name = (match[2] ?? match[3] ?? match[4])!;
    const target = name.startsWith('.') ? path.posix.join(path.posix.dirname(file), name) : name;
    return { target, isType: ONLY_TYPES.test(match[1] ?? '') };
  });
}

/** The text with every comment blanked out, line by line in its place. */
export function withoutComments(text: string): string {
  return blank(text, false);
}

/** The text with comments and the contents of strings, templates and regular expressions blanked out. */
export function codeOnly(text: string): string {
  return blank(text, true);
}

/** After one of these a slash begins a regular expression; after anything else it divides. */
const BEFORE_REGEX = /(?:^|[=(,:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|void|await|yield|throw))\s*$/;

/**
 * One pass with a stack: code, inside which a template may stand, inside whose `${}` code may stand again.
 * With `strings`, their contents go as well; the quotes stay.
 */
function blank(text: string, strings: boolean): string {
  const out: string[] = [];
  /** For each template that is open: how many braces are open inside its `${}`. */
  const templates: number[] = [];
  const space = (piece: string) => piece.replace(/[^\n]/g, ' ');
  let i = 0;
  const take = (pattern: RegExp, hide: (piece: string) => string): boolean => {
    pattern.lastIndex = i;
    const piece = pattern.exec(text)?.[0];
    if (piece === undefined) return false;
    out.push(hide(piece));
    i += piece.length;
    return true;
  };
  const keepEnds = (piece: string) =>
    strings && piece.length > 1 ? piece[0] + space(piece.slice(1, -1)) + piece.at(-1) : piece;
  const template = () => {
    take(/(?:\\[\s\S]|[^`\\$]|\$(?!\{))*/y, (piece) => (strings ? space(piece) : piece));
    if (take(/\$\{/y, (piece) => piece)) templates.push(0);
    else take(/`/y, (piece) => piece);
  };
  while (i < text.length) {
    const character = text[i]!;
    if (take(/\/\/[^\n]*|\/\*[\s\S]*?\*\//y, space)) continue;
    if (take(/'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/y, keepEnds)) continue;
    if (character === '/' && BEFORE_REGEX.test(out.slice(-40).join('').slice(-40))) {
      if (take(/\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y, keepEnds)) continue;
    }
    out.push(character);
    i += 1;
    if (character === '`') template();
    else if (character === '{' && templates.length > 0) templates[templates.length - 1]! += 1;
    else if (character === '}' && templates.length > 0) {
      if (templates.at(-1) === 0) {
        templates.pop();
        template();
      } else templates[templates.length - 1]! -= 1;
    }
  }
  return out.join('');
}
