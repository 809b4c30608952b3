/** What the settings files may say about the pipelines, and what holds when they say nothing: both are in the declarations. */
import { Cron } from 'croner';
import { z } from 'zod';
import { isNamed, type Pipeline } from '../../core/pipeline.ts';
import { yesOrNo } from '../../core/settings.ts';
import type { Area } from '../../core/source.ts';

const CRON_ERROR = "five fields: minute, hour, day, month, weekday, such as '30 5 * * *'";

const timing = () => ({
  enabled: yesOrNo(),
  schedule: z.string({ error: CRON_ERROR }).refine(isCron, { error: CRON_ERROR }),
});

/** What the settings of every pipeline that people name have. */
export interface PipelineTiming {
  /** Whether `run` takes it when no pipeline is named. */
  readonly enabled: boolean;
  /** Cron expression of five fields, in the service's time zone. */
  readonly schedule: string;
}

/** A section for each pipeline that people name. */
export function pipelineSections(pipelines: readonly Pipeline[]) {
  const sections = pipelines
    .filter(isNamed)
    .map(({ name, source }) => [name, z.strictObject({ ...timing(), ...source.settings.shape })]);
  return z.strictObject(Object.fromEntries(sections) as Record<string, z.ZodType<PipelineTiming>>);
}

/** A section below `service.<area>` for each call that a pipeline declares. */
export function callSections(pipelines: readonly Pipeline[], area: Area): z.ZodRawShape {
  return Object.fromEntries(callsIn(pipelines, area).map(({ key, call }) => [key, z.strictObject(call.shape)]));
}

/** The values that hold when the settings files say nothing, shaped as a settings file. */
export function usualSettings(pipelines: readonly Pipeline[]): Readonly<Record<string, unknown>> {
  const calls = (area: Area) => Object.fromEntries(callsIn(pipelines, area).map(({ key, call }) => [key, call.usual]));
  const sections = pipelines
    .filter(isNamed)
    .map(({ name, schedule, source }) => [name, { enabled: true, schedule, ...(source.settings.usual as object) }]);
  return {
    service: { reports: calls('reports'), catalog: calls('catalog'), retailer: calls('retailer') },
    pipelines: Object.fromEntries(sections),
  };
}

/** Calls of one area, with the key of each in the settings. */
export function callsIn(pipelines: readonly Pipeline[], area: Area) {
  return pipelines.flatMap(({ name, source }) =>
    source.call !== null && source.area === area
      ? { pipeline: name, key: source.call.name ?? name, call: source.call }
      : [],
  );
}

function isCron(text: string): boolean {
  // No nicknames such as @daily: what reads a schedule looks at its fields.
  if (!/^\s*\S+(?:\s+\S+){4}\s*$/.test(text)) return false;
  try {
    return new Cron(text, { mode: '5-part' }).nextRun() !== null;
  } catch {
    return false;
  }
}
