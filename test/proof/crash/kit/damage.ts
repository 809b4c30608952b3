/**
 * Files of the home directory that are damaged, one at a time: a bit is flipped, or the end is cut off; or one is lost. Then a night, and a look at
 * every hop (`verify`). What they tell must name the file and the command that fixes it, which is then carried out.
 */
import { cp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { contentsOf, differences } from './compare.ts';
import type { Ended } from './program.ts';
import { type Random, seeded } from './random.ts';
import { MINUTE_MS } from './scene.ts';
import { badlyTold, type Kind, lastLines, NIGHT, type Round, type Stage } from './stage.ts';

const ROUNDS = 16;
/** A fix may bring to light what it hid. */
const MOST_FIXES = 4;

/** Kinds of files, by their path in the home directory. */
const FILES: Readonly<Record<string, RegExp>> = {
  'raw-answers': /^raw\/[^/]+\/answers\//,
  'raw-gathered': /^raw\/[^/]+\/gathered\//,
  'lake-rows': /^lake\//,
  'lake-rejects': /^rejects\//,
  'state-database': /^state\.db$/,
  'state-backups': /^backups\//,
  locks: /^locks\/.*\.json$/,
  duckdb: /^warehouse\.duckdb$/,
  'duckdb-wal': /^warehouse\.duckdb\.wal$/,
};

/** What is to be typed, and files that are to come back from a backup or to go. */
const FIX =
  /partner-etl (?<command>(?:replay|rebuild|backfill|run|rejects|release)(?: (?:--[a-z-]+|[0-9-]{10}|[a-z-]+\b))*)|(?<by>restore (?=\S+ from a backup)|\brm )(?<file>[^\s;]+)/;

/** A log that DuckDB would apply to the file, left there by nobody: it has no kept original. */
const FABRICATED = ['warehouse.duckdb.wal'];

const LOST = /^raw\/[^/]+\/(?:answers|gathered)\//;

type Harm = (file: string, random: Random) => Promise<string>;

export const damages: readonly Kind[] = [
  ...Object.entries(FILES).map(
    ([name, pattern]): Kind => ({
      name: `damage-${name}`,
      rounds: ROUNDS,
      round: (stage, seed) => damaged(stage, pattern, damage, seeded(seed)),
    }),
  ),
  { name: 'lose-raw', rounds: ROUNDS, round: (stage, seed) => damaged(stage, LOST, lose, seeded(seed)) },
];

async function damaged(stage: Stage, pattern: RegExp, harm: Harm, random: Random): Promise<Round> {
  const { scene } = stage;
  const { code, everything, fixed } = await stage.undisturbed(NIGHT);
  await stage.begin(NIGHT);
  const file = random.pick((await filesUnder(scene.home)).filter((name) => pattern.test(name)));
  const how = await harm(path.join(scene.home, file), random);
  const what = `${file}, ${how}`;
  const after = await contentOf(path.join(scene.home, file));

  const heard = new Heard(path.basename(file));
  const failure = (why: string): Round => ({ verdict: 'failed', note: `${what}: ${why}${heard.told}` });
  let atMs = NIGHT.atMs;
  const fixes: string[] = [];
  for (let tries = 0; ; tries++) {
    const night = heard.hear(await scene.run(NIGHT.words, { atMs }));
    const proof = heard.hear(await scene.run(['verify'], { atMs: atMs + MINUTE_MS }));
    const bad = badlyTold(night) ?? (proof.stdout === '' ? badlyTold(proof) : null);
    if (bad !== null) return failure(bad);
    const isWell = (night.code === code || night.code === 0) && proof.code === 0;
    const warned = fixesIn(
      proof.stdout
        .split('\n')
        .filter((line) => line.startsWith('warning: raw: '))
        .join('\n'),
    );
    if (isWell && warned.every((fix) => fixes.includes(fix))) break;
    if (!heard.hasNamed) return failure('what is told does not name the file');
    const told = isWell ? warned : [night.stderr, proof.stdout, proof.stderr].flatMap(fixesIn);
    const commands = [...new Set(told)];
    if (commands.length === 0 || tries === MOST_FIXES) return failure(`nothing fixes it (tried: ${fixes.join('; ')})`);
    for (const command of commands) {
      atMs += MINUTE_MS;
      fixes.push(command);
      await carryOut(stage, command, atMs, heard);
    }
    atMs += 10 * MINUTE_MS;
  }
  const isFixed = fixes.length > 0;
  const isStillThere = after.equals(await contentOf(path.join(scene.home, file)));
  const found = await contentsOf(scene, isFixed ? 'fixed' : 'everything').catch((error) => String(error));
  if (typeof found === 'string') return failure(`a warehouse cannot be read: ${found}`);
  // The service is asked in other windows than the night's, and some faults hang on these: so they do in the night behind it.
  const asked = fixes.filter((command) => command.startsWith('backfill ')).map((command) => command.split(' '));
  const expected =
    asked.length > 0 ? await stage.afterwards(NIGHT, [...asked, NIGHT.words]) : isFixed ? fixed : everything;
  const differing = differences(expected, found);
  if (differing.length > 0)
    return failure(`after ${fixes.join('; ') || 'nothing was told'}:\n${differing.slice(0, 12).join('\n')}`);
  if (isFixed) return { verdict: 'fixed', note: `${what}: ${fixes.join('; ')}` };
  const isHarmless = isStillThere && !heard.hasNamed;
  return { verdict: isHarmless ? 'harmless' : 'equal', note: what };
}

/** What the program said, and whether it named the file. */
class Heard {
  private readonly name: string;
  private ends: Ended[] = [];

  constructor(name: string) {
    this.name = name;
  }

  hear(end: Ended): Ended {
    this.ends.push(end);
    return end;
  }

  get hasNamed(): boolean {
    return this.ends.some(({ stdout, stderr }) => `${stdout}${stderr}`.includes(this.name));
  }

  get told(): string {
    const [night, , fix] = this.ends; // the proof between them says what was carried out
    return [...new Set([night, fix, this.ends.at(-1)])]
      .map((end) => (end ? `\n${end.stdout.slice(0, 1500)}\n${lastLines(end.stderr)}` : ''))
      .join('\n--');
  }
}

/** What messages and the table of `verify` tell to do, the first of each line where there are several ways, with what is to follow. */
function fixesIn(text: string): string[] {
  const told = text.split('\n').filter((line) => !line.startsWith('{'));
  return told
    .flatMap((line) => line.split(', then '))
    .flatMap((part) => {
      const groups = FIX.exec(part)?.groups;
      return groups === undefined ? [] : [groups.command ?? `${groups.by}${groups.file}`];
    });
}

/** Files are named by their path, or by that in the home directory; the backup is what was kept before the damage. */
async function carryOut({ scene }: Stage, fix: string, atMs: number, heard: Heard): Promise<void> {
  const [by, named] = fix.split(' ');
  if (by !== 'restore' && by !== 'rm') return void heard.hear(await scene.run(fix.split(' '), { atMs }));
  const file = path.relative(scene.home, path.resolve(scene.home, named!));
  if (by === 'rm') return rm(path.join(scene.home, file), { force: true });
  await cp(path.join(scene.kept(NIGHT.from), file), path.join(scene.home, file), { recursive: true });
}

async function lose(file: string): Promise<string> {
  await rm(file);
  return 'lost';
}

async function damage(file: string, random: Random): Promise<string> {
  if (FABRICATED.includes(path.basename(file))) {
    await writeFile(file, Buffer.from(Array.from({ length: 200 }, () => random.below(256))));
    return 'made up';
  }
  const { size } = await stat(file);
  if (random.below(2) === 0 || size === 0) {
    const left = random.below(Math.max(1, size));
    await truncate(file, left);
    return `cut to ${left} of ${size} bytes`;
  }
  const bytes = await readFile(file);
  const [place, bit] = [random.below(size), random.below(8)];
  bytes[place] = bytes[place]! ^ (1 << bit);
  await writeFile(file, bytes);
  return `bit ${bit} of byte ${place} of ${size} flipped`;
}

function contentOf(file: string): Promise<Buffer> {
  return readFile(file).catch(() => Buffer.alloc(0));
}

/** With what is made up. */
async function filesUnder(home: string): Promise<string[]> {
  const entries = await readdir(home, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return [...files.map((file) => path.relative(home, file)), ...FABRICATED].sort();
}
