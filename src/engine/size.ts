/** How much of the machine DuckDB may use: by the settings `engine.memoryMiB` and `engine.threads`, else by what the machine has. */
import { availableParallelism, totalmem } from 'node:os';
import { LIMITS } from '../core/limits.ts';

export interface EngineSize {
  /** What DuckDB may hold before it spills to disk. */
  readonly memoryMiB: number;
  readonly threads: number;
}

/** null: as the machine has it. */
interface EngineSettings {
  readonly memoryMiB: number | null;
  readonly threads: number | null;
}

interface Machine {
  /** Cores that this process may use. */
  readonly cores: number;
  /** Of the machine, or of the container where that has less. */
  readonly memoryMiB: number;
}

const OPEN: EngineSettings = { memoryMiB: null, threads: null };

/** What each thread needs, so that more of them are quicker and do not spill. */
const MIB_A_THREAD = 128;

/**
 * Without settings: every core, and 128 MiB for each of them, but no more than an eighth of the machine's memory and no less than 512 MiB.
 * So up to four cores have 512 MiB, 64 cores and 256 GiB have 8 GiB.
 */
export function engineSize(
  { memoryMiB, threads }: EngineSettings = OPEN,
  machine: Machine = thisMachine(),
): EngineSize {
  const used = threads ?? machine.cores;
  const room = Math.floor(machine.memoryMiB / 8);
  return {
    threads: used,
    memoryMiB: memoryMiB ?? Math.max(LIMITS.engineMemoryMiB, Math.min(MIB_A_THREAD * used, room)),
  };
}

/** For reading and changing a warehouse, which streams: with more memory it only holds more of a large publication at once. */
export function warehouseSize({ memoryMiB, threads }: EngineSize): EngineSize {
  return { memoryMiB: Math.ceil(memoryMiB / 2), threads };
}

function thisMachine(): Machine {
  const limit = process.constrainedMemory(); // 0, or larger than any machine, where nothing limits it
  const bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return { cores: availableParallelism(), memoryMiB: Math.floor(bytes / 2 ** 20) };
}
