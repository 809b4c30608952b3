/**
 * What the settings files may say. Every message is the end of "… is accepted", so that an error can name it.
 * Defaults are in config/default.yaml, and those of a pipeline in its declaration: here nothing is optional.
 */
import { z } from 'zod';
import type { Pipeline } from '../../core/pipeline.ts';
import { callBudget, callPath, line, matching, mediaType, ratio, whole, yesOrNo } from '../../core/settings.ts';
import type { Area } from '../../core/source.ts';
import { SUB_ID_GRAMMAR, subIdParts } from '../../core/sub-id-grammar.ts';
import { isServiceAddress, SERVICE_ADDRESS } from '../address.ts';
import { alertsSection } from './alerts.ts';
import { ducklakeSection } from './ducklake.ts';
import { callSections, pipelineSections } from './pipelines.ts';
import { pushSection } from './push.ts';
import { retentionSection } from './retention.ts';
import { serveSection } from './serve.ts';

const ZONE_ERROR = 'the name of a time zone such as Europe/Amsterdam';
const QUERY_ERROR = 'a SQL query, or null';

const serviceAddress = () => z.string({ error: SERVICE_ADDRESS }).refine(isServiceAddress, { error: SERVICE_ADDRESS });

const area = () => ({
  version: matching(/^[A-Za-z0-9._-]+$/, 'a version such as v2'),
  credentials: matching(/^[A-Za-z][A-Za-z0-9_-]*$/, 'the name of a pair of credentials: letters, digits, "_" and "-"'),
});

const subIdGrammar = () =>
  z.string({ error: SUB_ID_GRAMMAR }).refine((text) => subIdParts(text) !== null, { error: SUB_ID_GRAMMAR });

const simpleCall = (placeholder?: 'id') =>
  z.strictObject({ path: callPath(placeholder), accept: mediaType(), budget: callBudget() });

const retailer = (declared: z.ZodRawShape) =>
  z.strictObject({
    ...area(),
    ...declared,
    subscriptions: z.strictObject({
      path: callPath(),
      itemPath: callPath('id'),
      accept: mediaType(),
      contentType: mediaType(),
      budget: callBudget(),
    }),
    signatureKeys: simpleCall(),
    // The id is part of the path from v6 on only.
    testPush: z.strictObject({
      path: z.union([callPath(), callPath('id')], { error: 'a path that begins with "/", with or without {id}' }),
      accept: mediaType(),
      budget: callBudget(),
    }),
    processStatus: simpleCall('id'),
    reductions: simpleCall(),
    reductionsName: simpleCall(),
  });

const timeouts = () =>
  z
    .strictObject({
      connectMs: whole(100, 600_000, 'milliseconds'),
      headersMs: whole(100, 3_600_000, 'milliseconds'),
      bodyMs: whole(100, 3_600_000, 'milliseconds'),
      totalMs: whole(100, 86_400_000, 'milliseconds'),
    })
    .refine((t) => t.totalMs >= Math.max(t.connectMs, t.headersMs, t.bodyMs), {
      path: ['totalMs'],
      error: 'a number not smaller than the other three timeouts',
    });

const retry = () =>
  z
    .strictObject({
      tries: whole(1, 20, 'calls'),
      baseMs: whole(1, 3_600_000, 'milliseconds'),
      longestMs: whole(1, 3_600_000, 'milliseconds'),
    })
    .refine((r) => r.longestMs >= r.baseMs, { path: ['longestMs'], error: 'a number not smaller than baseMs' });

const service = (declared: Readonly<Record<Area, z.ZodRawShape>>) =>
  z.strictObject({
    baseUrl: serviceAddress().nullable(),
    authUrl: serviceAddress().nullable(),
    timeZone: z.string({ error: ZONE_ERROR }).refine(isTimeZone, { error: ZONE_ERROR }),
    token: z.strictObject({
      path: callPath(),
      renewBeforeSeconds: whole(1, 3600, 'seconds'),
      circuitMinutes: whole(1, 10_080, 'minutes'),
      mostPerHour: whole(1, 120, 'token requests'),
    }),
    answerMiB: whole(1, 65_536, 'MiB'),
    timeouts: timeouts(),
    retry: retry(),
    reports: z.strictObject({ ...area(), ...declared.reports }),
    catalog: z.strictObject({ ...area(), ...declared.catalog }),
    retailer: retailer(declared.retailer),
  });

/** The whole settings of an installation with these pipelines. */
export const settingsSchema = (pipelines: readonly Pipeline[]) =>
  z.strictObject({
    service: service({
      reports: callSections(pipelines, 'reports'),
      catalog: callSections(pipelines, 'catalog'),
      retailer: callSections(pipelines, 'retailer'),
    }),
    eans: z.strictObject({
      file: line('the path of a CSV file, or null').nullable(),
      query: z.string({ error: QUERY_ERROR }).regex(/\S/, { error: QUERY_ERROR }).nullable(),
    }),
    pipelines: pipelineSections(pipelines),
    serve: serveSection(),
    push: pushSection(),
    subIds: z.strictObject({ grammar: subIdGrammar().nullable() }),
    engine: z.strictObject({
      memoryMiB: whole(256, 1_048_576, 'MiB, or null').nullable(),
      threads: whole(1, 1024, 'threads, or null').nullable(),
      extensions: z.string().min(1).nullable(),
    }),
    lake: z.strictObject({ delta: yesOrNo(), deltaDays: whole(1, 36_500, 'days') }),
    targets: z.strictObject({
      duckdb: z.strictObject({ enabled: yesOrNo() }),
      postgres: z.strictObject({ requireTls: yesOrNo() }),
      ducklake: ducklakeSection(),
    }),
    guards: z.strictObject({
      shrink: z.strictObject({ minRows: whole(1, 1_000_000_000, 'rows'), keepRatio: ratio() }),
    }),
    retention: retentionSection(),
    alerts: alertsSection(pipelines),
  });

export type Settings = z.infer<ReturnType<typeof settingsSchema>>;

function isTimeZone(name: string): boolean {
  try {
    // Only names: an offset such as +01:00 knows no summer.
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }) !== null;
  } catch {
    return false;
  }
}
