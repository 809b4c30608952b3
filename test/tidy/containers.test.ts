/** The container files, as far as they can be checked without an engine that runs them. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { version } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { composeText, imageEnvironment, lastOf, readCompose, readDockerfile, type Service, textOf } from './compose.ts';
import { REPOSITORY } from './sources.ts';

const compose = readCompose();
const services = Object.entries(compose.services);
const guide = textOf('docs/containers.md');
const inTree = (file: string) => existsSync(path.join(REPOSITORY, file));
/** Made by the operator, who is told so. */
const isSecret = (file: string) => file.startsWith('./data/secrets/');

/** `${NAME:-default}` as its default, as often as they are nested. */
function withDefaults(text: string): string {
  const inner = text.replaceAll(/\$\{\w+:-([^${}]*)\}/g, '$1');
  return inner === text ? text : withDefaults(inner);
}

const mounts = ({ volumes }: Service) =>
  volumes.map((volume) => {
    if (typeof volume !== 'string') return { ...volume, source: withDefaults(volume.source) };
    const [source = '', target = '', mode] = volume.split(':');
    return { source, target, read_only: mode === 'ro' };
  });

describe('docker-compose.yml', () => {
  test('every service is read-only, without capabilities beyond those it names, and gains none', () => {
    for (const [, { read_only, cap_drop, security_opt }] of services)
      expect({ read_only, cap_drop, security_opt }).toEqual({
        ...{ read_only: true, cap_drop: ['ALL'] },
        security_opt: ['no-new-privileges:true'],
      });
    expect(services.filter(([, { cap_add }]) => cap_add).map(([name]) => name)).toEqual(['postgres']);
  });

  test('what it mounts is in the tree, a volume of its own, or a secret that docs/containers.md has made', () => {
    const sources = services.flatMap(([, service]) => mounts(service).map(({ source }) => source));
    const missing = sources.filter((source) =>
      source.startsWith('./') ? !inTree(source) : !(source in compose.volumes),
    );
    expect(missing).toEqual([]);
    for (const { file } of Object.values(compose.secrets)) {
      expect(withDefaults(file)).toSatisfy(isSecret);
      expect(guide).toContain(path.basename(withDefaults(file)));
    }
    expect(sources.length).toBeGreaterThan(5);
  });

  test('files of the tree are mounted read-only', () => {
    const writable = services.flatMap(([, service]) =>
      mounts(service).filter(({ source, read_only }) => source.startsWith('./') && !read_only),
    );
    expect(writable).toEqual([]);
  });

  test('every secret, volume and service that it names is there, and each is used', () => {
    const used = (of: (service: Service) => readonly string[]) =>
      [...new Set(services.flatMap(([, s]) => of(s)))].sort();
    expect(used(({ secrets }) => secrets)).toEqual(Object.keys(compose.secrets).sort());
    const volumes = used((service) => mounts(service).map(({ source }) => source)).filter((s) => !s.startsWith('./'));
    expect(volumes).toEqual(Object.keys(compose.volumes).sort());
    const others = used(({ depends_on: on = [], network_mode: mode }) => [
      ...(Array.isArray(on) ? on : Object.keys(on)),
      ...(mode === undefined ? [] : [mode.replace('service:', '')]),
    ]);
    expect(others.filter((name) => !(name in compose.services))).toEqual([]);
    for (const [, { secrets, environment }] of services)
      for (const value of Object.values(environment).filter((text) => text.startsWith('/run/secrets/')))
        expect(secrets).toContain(path.basename(value));
  });

  test('who is waited for until healthy has a health check', () => {
    const on = compose.services['partner-etl']?.depends_on ?? {};
    expect(Object.keys(on)).toEqual(['postgres']);
    expect(compose.services.postgres?.healthcheck).toBeDefined();
  });

  test('every variable that it reads is explained in its head and in docs/containers.md', () => {
    const names = [...composeText.matchAll(/\$\{(\w+)/g)].map(([, name]) => name!);
    const head = composeText.slice(0, composeText.indexOf('\nname:'));
    expect([...new Set(names)].filter((name) => !head.includes(name) || !guide.includes(name))).toEqual([]);
    expect(names.length).toBeGreaterThan(5);
  });

  test('every variable that it gives the program is one that the program reads', () => {
    const { environment } = compose.services['partner-etl']!;
    const known = ['config/environment.ts', 'config/s3.ts', 'extras/tracing/tracing.ts']
      .map((file) => textOf(`src/${file}`))
      .join();
    // PGPASSFILE is read by the client of Postgres.
    const unknown = Object.keys(environment).filter((name) => !known.includes(`'${name}'`) && name !== 'PGPASSFILE');
    expect(unknown).toEqual([]);
  });

  test('the extensions that it fetches are of the version of DuckDB', () => {
    const command = String(compose.services.extensions?.command);
    const versions = [...command.matchAll(/duckdb-extension-[\w-]+==([\d.]+)/g)].map(([, of]) => `v${of}`);
    expect(versions).toEqual([version(), version(), version()]);
    expect(guide).toContain('--profile ducklake run --rm extensions');
  });

  test('the image that it builds has the version of the package', () => {
    const { version } = JSON.parse(textOf('package.json')) as { version: string };
    for (const name of ['partner-etl', 'sandbox']) expect(compose.services[name]?.image).toBe(`partner-etl:${version}`);
  });
});

describe('Dockerfile', () => {
  const instructions = readDockerfile();
  const copied = instructions
    .filter(({ word, rest }) => word === 'COPY' && !rest.startsWith('--from='))
    .flatMap(({ rest }) => rest.split(/\s+/).slice(0, -1));

  test('both stages take one Node, by its version, that the package allows', () => {
    const images = instructions.filter(({ word }) => word === 'FROM').map(({ rest }) => rest.split(' ')[0]!);
    expect(new Set(images).size).toBe(1);
    const [, major] = /^node:(\d+)\.\d+\.\d+-[a-z]+-slim$/.exec(images[0]!) ?? [];
    expect(Number(major)).toBeGreaterThanOrEqual(20);
  });

  test('what it copies is in the tree, and the ignore file lets it through', () => {
    expect(copied.filter((file) => !inTree(file))).toEqual([]);
    const rules = textOf('.dockerignore').split('\n');
    expect(rules).toContain('*');
    expect(copied.filter((file) => !rules.includes(`!${file}`))).toEqual([]);
    expect(rules.filter((rule) => /^!(?:\.env|data|config\/local)/.test(rule))).toEqual([]);
    expect(rules).toContain('config/local.yaml');
  });

  test('everything that the program reads at run time is in it', () => {
    const { files: packed } = JSON.parse(textOf('package.json')) as { files: string[] };
    // The rest of the package is for people.
    const files = packed.filter((name) => !/^!|^docs$|\.md$/.test(name));
    expect(files.length).toBeGreaterThan(4);
    const placed = instructions.filter(({ word }) => word === 'COPY').map(({ rest }) => rest.split(/\s+/).at(-1)!);
    expect(files.filter((folder) => !placed.includes(`/app/${folder}`))).toEqual([]);
  });

  test('the program is not run as root, and its variables are ones that it reads', () => {
    expect(lastOf('USER')).toBe('node');
    const known = textOf('src/config/environment.ts');
    const unknown = Object.keys(imageEnvironment()).filter((name) => !known.includes(`'${name}'`));
    expect(unknown).toEqual(['NODE_ENV']);
    expect(lastOf('VOLUME')).toBe(imageEnvironment().PARTNER_ETL_HOME);
  });
});

const imageSettings = () => {
  const env = { PARTNER_ETL_CONFIG: path.join(REPOSITORY, 'config/container.yaml') };
  return loadConfig({ env, cwd: '/nowhere', packageRoot: REPOSITORY });
};

describe('what the containers are given', () => {
  test('the settings of the image are sound, and listen where others can reach them', async () => {
    const { push, serve } = await imageSettings();
    expect([push.host, serve.host]).toEqual(['0.0.0.0', '0.0.0.0']);
    expect(lastOf('HEALTHCHECK')).toContain(`:${serve.port}/`);
    const published = compose.services['partner-etl']!.ports.map((port) => Number(port.split(':').at(-1)));
    expect(published).toEqual([serve.port, push.port]);
    expect(lastOf('EXPOSE').split(' ').map(Number)).toEqual(expect.arrayContaining(published));
  });

  test('the credentials of the sandbox are those that it takes', async () => {
    const { port, ...given } = { port: 4010, ...parseEnv(textOf('config/sandbox.env')) };
    const sandbox = await startSandbox({ seed: 7, ordersPerDay: 1, now: () => 0 });
    await sandbox.close();
    const at = (url: string) => Object.assign(new URL(url), { port }).href.replace(/\/$/, '');
    expect(given).toEqual({
      PARTNER_BASE_URL: at(sandbox.baseUrl),
      PARTNER_AUTH_URL: at(sandbox.authUrl),
      PARTNER_CLIENT_ID: sandbox.clientId,
      ETL_CLIENT_SECRET_FILE: './data/secrets/sandbox-secret',
    });
    expect(guide).toContain('> data/secrets/sandbox-secret');
    expect(sandbox.clientSecret).toMatch(/^[0-9a-f]{64}$/); // as the line there finds it
    expect(compose.services.sandbox?.command).toEqual(['sandbox', '--port', String(port)]);
  });

  test('Prometheus asks partner-etl, and Grafana asks Prometheus', async () => {
    const { scrape_configs: jobs } = parse(textOf('config/prometheus.yml')) as {
      scrape_configs: { static_configs: { targets: string[] }[] }[];
    };
    const targets = jobs.flatMap((job) => job.static_configs.flatMap(({ targets: some }) => some));
    const { serve } = await imageSettings();
    expect(targets).toEqual([`partner-etl:${serve.port}`]);
    expect(lastOf('EXPOSE').split(' ')).toContain(String(serve.port));
    const provisioning = 'config/grafana/provisioning';
    const { datasources } = parse(textOf(`${provisioning}/datasources/prometheus.yml`)) as {
      datasources: { uid: string; url: string }[];
    };
    expect(datasources).toMatchObject([{ url: 'http://prometheus:9090' }]);
    const { providers } = parse(textOf(`${provisioning}/dashboards/partner-etl.yml`)) as {
      providers: { options: { path: string } }[];
    };
    const grafana = mounts(compose.services.grafana!);
    const [provider] = providers;
    const folder = grafana.find(({ target }) => target === provider!.options.path)?.source;
    expect(folder).toBe('./config/grafana/dashboards');
    for (const file of readdirSync(path.join(REPOSITORY, folder!))) {
      const text = textOf(path.join(folder!, file));
      const uids = [...text.matchAll(/"type": "prometheus", "uid": "(\w+)"/g)].map(([, uid]) => uid);
      expect(new Set(uids)).toEqual(new Set([datasources[0]!.uid]));
      JSON.parse(text);
    }
  });
});
