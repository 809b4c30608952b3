/** Endpoints 15 and 16: the reductions file of the day, and its name. */
import { dayOfNumber } from '../core/days.ts';
import { centsText } from './amounts.ts';
import { entries, type Reduction, reductionsOf } from './assortment.ts';
import { type Answer, type Call, retailerType, retailerVersion } from './call.ts';
import { dutchWall } from './dutch-time.ts';
import { refusedMedia } from './media.ts';
import { PieceBuffer } from './pieces.ts';
import type { World } from './world.ts';

/** A day's file is there from five past midnight on, which its name says too. */
const READY_AT_MS = 5 * 60_000;
/** Reductions enter the file so many days before they begin. */
const AHEAD_DAYS = 7;

/** Number of the day whose file is the latest. */
function fileDay(now: number): number {
  return dutchWall(now - READY_AT_MS).day;
}

function fileName(day: number): string {
  const [year, month, date] = dayOfNumber(day).split('-');
  return `Verlaging_Bemiddelingsbijdrage_${date}${month}${year}_0005.csv`;
}

function line(ean: string, reduction: Reduction): string {
  const { maximumCents, costCents, startDay, endDay } = reduction;
  return `${ean},${centsText(maximumCents)},${centsText(costCents)},${dayOfNumber(startDay)},${dayOfNumber(endDay)}\n`;
}

function* file(world: World, seriesLength: number, day: number): Generator<Buffer> {
  const out = new PieceBuffer();
  out.write('EAN,MaximumPrice,CostReduction,StartDate,EndDate\n');
  for (const entry of entries(world, seriesLength))
    for (const reduction of reductionsOf(entry, day)) {
      if (reduction.endDay < day || reduction.startDay > day + AHEAD_DAYS) continue;
      if (out.full) yield out.take();
      out.write(line(entry.ean, reduction));
    }
  yield out.take();
}

function typeOf(call: Call): string {
  return retailerType(retailerVersion(call.headers.accept, 'csv') ?? 3, 'csv');
}

/** Endpoint 15: the whole file; its name stands in Content-Disposition, without quotes. */
export function reductionsFile(world: World, seriesLength: number, call: Call): Answer {
  const refused = refusedMedia(call, 'csv');
  if (refused !== undefined) return refused;
  const day = fileDay(call.now);
  const headers = {
    'content-type': typeOf(call),
    'content-disposition': `attachment; filename=${fileName(day)}`,
  };
  return { status: 200, headers, body: file(world, seriesLength, day) };
}

/** Endpoint 16: the bare name as text. */
export function latestReductions(call: Call): Answer {
  const refused = refusedMedia(call, 'csv');
  if (refused !== undefined) return refused;
  return { status: 200, headers: { 'content-type': typeOf(call) }, body: fileName(fileDay(call.now)) };
}
