/** The dashboard and the alert rules, held against what /metrics gives. */
import { collectDefaultMetrics, Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { metersIn } from '../../src/serve/metrics/meters.ts';
import { readCompose, textOf } from './compose.ts';

/** Labels by metric; `up` is Prometheus' own, and `job` is on everything. */
const known = labelsByMetric();

function labelsByMetric(): ReadonlyMap<string, ReadonlySet<string>> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  metersIn(registry);
  const labels = new Map<string, ReadonlySet<string>>([['up', new Set(['job'])]]);
  for (const metric of registry.getMetricsAsArray()) {
    const { labelNames = [] } = metric as { labelNames?: readonly string[] };
    const isHistogram = String(metric.type) === 'histogram';
    for (const suffix of isHistogram ? ['_bucket', '_sum', '_count'] : [''])
      labels.set(`${metric.name}${suffix}`, new Set([...labelNames, 'job', ...(suffix === '_bucket' ? ['le'] : [])]));
  }
  return labels;
}

const withoutText = (expr: string) => expr.replaceAll(/"[^"]*"/g, '""');

/** Names that begin as one of ours, of Node's, or Prometheus' own. */
function metricsIn(expr: string): string[] {
  return [...withoutText(expr).matchAll(/\b(?:(?:partner_etl|process|nodejs)_\w+|up\b)/g)].map(([name]) => name);
}

/** Names between braces before an operator, and those of `by (…)` and the like. */
function labelsIn(expr: string): string[] {
  const text = withoutText(expr);
  const matchers = [...text.matchAll(/\{([^}]*)\}/g)].flatMap(([, inner]) =>
    [...inner!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!),
  );
  const groups = [...text.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)].flatMap(([, inner]) =>
    inner!.split(/[\s,]+/).filter((label) => label !== ''),
  );
  return [...matchers, ...groups];
}

function problemsOf(expr: string): string[] {
  const metrics = metricsIn(expr);
  if (metrics.length === 0) return [`${expr}: names no metric`];
  const unknown = metrics.filter((name) => !known.has(name)).map((name) => `${name} is not there`);
  const labels = labelsIn(expr).filter((label) => !metrics.some((name) => known.get(name)?.has(label)));
  return [...unknown, ...labels.map((label) => `${expr}: no metric in it has the label ${label}`)];
}

/** Labels that what an expression gives still has: those of its outermost `by`, else those of its metrics. */
function labelsLeft(expr: string): ReadonlySet<string> {
  const by = /^(?:sum|max|min|avg) by \(([^)]*)\)/.exec(expr)?.[1];
  if (by !== undefined) return new Set(by.split(/,\s*/));
  return new Set(metricsIn(expr).flatMap((name) => [...(known.get(name) ?? [])]));
}

test.each([
  ['partner_etl_no_such_total', 'partner_etl_no_such_total is not there'],
  ['partner_etl_publish_duration_seconds', 'partner_etl_publish_duration_seconds is not there'],
  ['sum by (endpoint) (partner_etl_slices)', 'has the label endpoint'],
  ['partner_etl_slices{status="x"}', 'has the label status'],
  ['1 + 1', 'names no metric'],
])('%s is found out', (expr, problem) => {
  expect(problemsOf(expr).join()).toContain(problem);
});

describe('the dashboard', () => {
  const panel = z.object({
    id: z.int(),
    title: z.string().min(1),
    type: z.enum(['row', 'stat', 'gauge', 'bargauge', 'timeseries']),
    gridPos: z.strictObject({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
    targets: z.array(z.object({ refId: z.string(), expr: z.string(), legendFormat: z.string() })).default([]),
  });
  const dashboard = z
    .object({ panels: z.array(panel), templating: z.object({ list: z.array(z.object({ query: z.string() })) }) })
    .parse(JSON.parse(textOf('config/grafana/dashboards/partner-etl.json')));
  const targets = dashboard.panels.flatMap((one) => one.targets);
  const exprs = targets.map(({ expr }) => expr);

  test('asks for metrics and labels that are there', () => {
    expect(exprs.flatMap(problemsOf)).toEqual([]);
    for (const { query } of dashboard.templating.list) {
      const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(query) ?? [];
      expect([...(known.get(metric) ?? [])]).toContain(label);
    }
  });

  test('shows everything that partner-etl measures', () => {
    const shown = new Set(exprs.flatMap(metricsIn));
    const ours = [...known.keys()].filter((name) => name.startsWith('partner_etl_'));
    expect(ours.filter((name) => !shown.has(name))).toEqual([]);
  });

  test('names in legends are of labels that are left', () => {
    const wrong = targets.flatMap(({ expr, legendFormat }) =>
      [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].filter(([, label]) => !labelsLeft(expr).has(label!)),
    );
    expect(wrong.map(([text]) => text)).toEqual([]);
  });

  test('its panels have ids of their own, and none lies on another one', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Map<string, string>();
    for (const { title, gridPos } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.get(`${x} ${y}`) ?? title).toBe(title);
          taken.set(`${x} ${y}`, title);
        }
    }
  });
});

describe('the alert rules', () => {
  const rule = z.strictObject({
    alert: z.string().regex(/^PartnerEtl[A-Z]\w+$/),
    expr: z.string(),
    for: z
      .string()
      .regex(/^\d+[smhd]$/)
      .optional(),
    labels: z.strictObject({ severity: z.enum(['warning', 'critical']) }),
    annotations: z.strictObject({ summary: z.string().min(1), fix: z.string().min(1) }),
  });
  const file = z.strictObject({ groups: z.array(z.strictObject({ name: z.string(), rules: z.array(rule) })) });
  const rules = file.parse(parse(textOf('config/prometheus-rules.yml'))).groups.flatMap((group) => group.rules);

  test('ask for metrics and labels that are there, and each has a name of its own', () => {
    expect(rules.flatMap(({ expr }) => problemsOf(expr))).toEqual([]);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    expect(rules.length).toBeGreaterThan(5);
  });

  test('what they say names labels that are left', () => {
    const wrong = rules.flatMap(({ expr, annotations }) =>
      [
        ...Object.values(annotations)
          .join(' ')
          .matchAll(/\$labels\.(\w+)/g),
      ].filter(([, label]) => !labelsLeft(expr).has(label!)),
    );
    expect(wrong.map(([text]) => text)).toEqual([]);
  });

  test('are read by Prometheus from where docker-compose.yml puts them', () => {
    const { rule_files: files } = parse(textOf('config/prometheus.yml')) as { rule_files: string[] };
    const { volumes } = readCompose().services.prometheus!;
    expect(volumes).toContain(`./config/prometheus-rules.yml:${files[0]}:ro`);
    expect(files).toHaveLength(1);
  });
});
