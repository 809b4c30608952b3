/**
 * No room on the disk. `disk-full`: the home directory is a tmpfs in which a file leaves a random rest of room; that needs the right
 * to mount. `file-limit`: no file may grow beyond a random size (`ulimit -f`), which every user may demand of a child.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { seeded } from './random.ts';
import { badlyTold, type Kind, lastLines, NIGHT, type Round, type Stage } from './stage.ts';

/** Large enough for a night. */
const DISK_MiB = 256;
/** A night needs some 20 MiB on top of what is there: the copy of the DuckDB file, and what it works with. */
const MOST_ROOM_MiB = 24;

async function failed(stage: Stage, when: string, night: ReturnType<Stage['scene']['run']>, makeRoom: () => void) {
  let end: Awaited<typeof night>;
  try {
    end = await night;
  } finally {
    makeRoom();
  }
  const ended = `${when}, ended with ${end.code ?? end.signal}`;
  const bad = badlyTold(end);
  if (bad !== null) return { verdict: 'failed', note: `${ended}: ${bad}\n${lastLines(end.stderr)}` } as const;
  const wrong = await stage.healed(NIGHT, true);
  if (wrong === null) return { verdict: 'equal', note: ended } as const;
  return { verdict: 'failed', note: `${ended}: ${wrong}` } as const;
}

async function onFullDisk(stage: Stage, seed: number): Promise<Round> {
  await stage.undisturbed(NIGHT);
  const { home } = stage.scene;
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MiB}m`, 'tmpfs', home]);
  try {
    await stage.begin(NIGHT);
    const { bavail, bsize } = statfsSync(home);
    const roomKiB = Math.floor(seeded(seed).between(0, MOST_ROOM_MiB * 1024));
    const filler = path.join(home, 'filler');
    writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - roomKiB * 1024)));
    const night = stage.scene.run(NIGHT.words, stage.optionsOf(NIGHT));
    return await failed(stage, `${roomKiB} KiB of room`, night, () => rmSync(filler));
  } finally {
    execFileSync('umount', [home]);
  }
}

async function mountRefusal({ scene: { folder } }: Stage): Promise<string | null> {
  const place = path.join(folder, 'mounted');
  mkdirSync(place, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', place], { stdio: 'ignore' });
    execFileSync('umount', [place]);
    return null;
  } catch {
    return 'a tmpfs cannot be mounted by this user; file-limit is tried instead';
  }
}

async function underFileLimit(stage: Stage, seed: number): Promise<Round> {
  await stage.undisturbed(NIGHT);
  await stage.begin(NIGHT);
  const random = seeded(seed);
  // Small files are records and the lake's, large ones the DuckDB file.
  const fileLimitKiB = Math.ceil(random.below(2) === 0 ? random.between(1, 64) : random.between(64, 12 * 1024));
  const night = stage.scene.run(NIGHT.words, { ...stage.optionsOf(NIGHT), fileLimitKiB });
  return failed(stage, `files of at most ${fileLimitKiB} KiB`, night, () => undefined);
}

export const fullDisks: readonly Kind[] = [
  { name: 'disk-full', rounds: 24, skipped: mountRefusal, round: onFullDisk },
  {
    name: 'file-limit',
    rounds: 24,
    skipped: async () => (process.platform === 'win32' ? 'there is no ulimit on this system' : null),
    round: underFileLimit,
  },
];
