/**
 * What the settings files may say. Every message is the end of "… is accepted", so that an error can name it.
 * Defaults stand in config/default.yaml alone: here nothing is optional.
 */
import { z } from 'zod';
import { SUB_ID_GRAMMAR, subIdParts } from '../core/sub-id-grammar.ts';
import { isServiceAddress, SERVICE_ADDRESS } from './address.ts';
import { alertsSection } from './alerts-schema.ts';
import { pipelineSections } from './pipeline-schema.ts';
import { pushSection } from './push-schema.ts';
import { retentionSection } from './retention-schema.ts';
import { serveSection } from './serve-schema.ts';
import { line, matching, ratio, whole, yesOrNo } from './values.ts';

const ZONE_ERROR = 'the name of a time zone such as Europe/Amsterdam';
const QUERY_ERROR = 'a SQL query, or null';

const serviceAddress = () => z.string({ error: SERVICE_ADDRESS }).refine(isServiceAddress, { error: SERVICE_ADDRESS });

const parameter = () => matching(/^[A-Za-z][A-Za-z0-9._-]*$/, 'a name of letters, digits, ".", "_" and "-"');

const mediaType = () =>
  matching(/^[A-Za-z0-9.+-]+\/(?:[A-Za-z0-9.+-]|\{version\})+$/, 'a media type such as application/json');

/** A path with exactly the given placeholder besides `{version}`, which may always stand there. */
function callPath(placeholder?: 'ean' | 'id') {
  const needed = placeholder === undefined ? [] : [`{${placeholder}}`];
  const error = `a path that begins with "/"${needed.map((name) => `, holds ${name}`).join('')} and no other "{…}" than {version}`;
  return z.string({ error }).refine(
    (text) => {
      const found = (text.match(/\{[^}]*\}/g) ?? []).filter((name) => name !== '{version}');
      const plain = text.replaceAll(/\{[a-z]+\}/g, '');
      return /^\/[A-Za-z0-9._~/-]*$/.test(plain) && found.join() === needed.join();
    },
    { error },
  );
}

const budget = () =>
  z.strictObject({
    calls: whole(1, 10_000, 'calls'),
    perSeconds: whole(1, 86_400, 'seconds'),
    concurrency: whole(1, 100, 'calls at once'),
  });

const area = () => ({
  version: matching(/^[A-Za-z0-9._-]+$/, 'a version such as v2'),
  credentials: matching(/^[A-Za-z][A-Za-z0-9_-]*$/, 'the name of a pair of credentials: letters, digits, "_" and "-"'),
});

const report = () =>
  z.strictObject({
    path: callPath(),
    accept: mediaType(),
    startParameter: parameter(),
    endParameter: parameter(),
    budget: budget(),
  });

const subIdGrammar = () =>
  z.string({ error: SUB_ID_GRAMMAR }).refine((text) => subIdParts(text) !== null, { error: SUB_ID_GRAMMAR });

const simpleCall = (placeholder?: 'ean' | 'id') =>
  z.strictObject({ path: callPath(placeholder), accept: mediaType(), budget: budget() });

const retailer = () =>
  z.strictObject({
    ...area(),
    subscriptions: z.strictObject({
      path: callPath(),
      itemPath: callPath('id'),
      accept: mediaType(),
      contentType: mediaType(),
      budget: budget(),
    }),
    signatureKeys: simpleCall(),
    // The id is part of the path from v6 on only.
    testPush: z.strictObject({
      path: z.union([callPath(), callPath('id')], { error: 'a path that begins with "/", with or without {id}' }),
      accept: mediaType(),
      budget: budget(),
    }),
    processStatus: simpleCall('id'),
    commission: z.strictObject({
      budget: budget(),
      single: z.strictObject({
        path: callPath('ean'),
        accept: mediaType(),
        conditionParameter: parameter(),
        priceParameter: parameter(),
      }),
      bulk: z.strictObject({
        path: callPath(),
        accept: mediaType(),
        contentType: mediaType(),
        priceField: parameter(),
        eansPerRequest: whole(1, 100, 'EANs'),
      }),
    }),
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

const service = () =>
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
    timeouts: timeouts(),
    retry: retry(),
    reports: z.strictObject({ ...area(), promotions: report(), orders: report(), commissions: report() }),
    catalog: z.strictObject({
      ...area(),
      product: z.strictObject({
        path: callPath('ean'),
        accept: mediaType(),
        countryParameter: parameter(),
        budget: budget(),
      }),
    }),
    retailer: retailer(),
  });

export const settingsSchema = z.strictObject({
  service: service(),
  eans: z.strictObject({
    file: line('the path of a CSV file, or null').nullable(),
    query: z.string({ error: QUERY_ERROR }).regex(/\S/, { error: QUERY_ERROR }).nullable(),
  }),
  pipelines: pipelineSections(),
  serve: serveSection(),
  push: pushSection(),
  subIds: z.strictObject({ grammar: subIdGrammar().nullable() }),
  targets: z.strictObject({ duckdb: z.strictObject({ enabled: yesOrNo() }) }),
  guards: z.strictObject({
    shrink: z.strictObject({ minRows: whole(1, 1_000_000_000, 'rows'), keepRatio: ratio() }),
  }),
  retention: retentionSection(),
  alerts: alertsSection(),
});

export type Settings = z.infer<typeof settingsSchema>;

function isTimeZone(name: string): boolean {
  try {
    // Only names: an offset such as +01:00 knows no summer.
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }) !== null;
  } catch {
    return false;
  }
}
