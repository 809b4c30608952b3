/** docker-compose.yml and Dockerfile as data: of the compose specification only the keys that ours uses. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { REPOSITORY } from './sources.ts';

const name = z.string().regex(/^[a-z][a-z0-9_-]*$/);
const duration = z.string().regex(/^(?:\d+(?:h|m|s|ms|us))+$/);
/** One with a version, so that nobody gets another program without a change here. */
const image = z.string().regex(/^(?:[a-z0-9.-]+\/)*[a-z0-9.-]+:v?\d+\.\d+(?:\.\d+)?(?:-[a-z0-9.]+)?$/);

const healthcheck = z.strictObject({
  test: z.tuple([z.enum(['CMD', 'CMD-SHELL', 'NONE'])], z.string()),
  interval: duration,
  timeout: duration,
  retries: z.int().positive(),
  start_period: duration.optional(),
});

const bind = z.strictObject({
  type: z.literal('bind'),
  source: z.string(),
  target: z.string().startsWith('/'),
  read_only: z.boolean(),
});

const service = z.strictObject({
  build: z.literal('.').optional(),
  image,
  profiles: z.array(name).optional(),
  command: z.array(z.string()).optional(),
  init: z.boolean().optional(),
  user: z
    .string()
    .regex(/^\d+:\d+$/)
    .optional(),
  restart: z.enum(['no', 'always', 'on-failure', 'unless-stopped']),
  stop_grace_period: duration.optional(),
  read_only: z.boolean(),
  cap_drop: z.array(z.string()),
  cap_add: z.array(z.string().regex(/^[A-Z_]+$/)).optional(),
  security_opt: z.array(z.string()),
  environment: z.record(z.string().regex(/^[A-Z0-9_]+$/), z.string()).default({}),
  secrets: z.array(name).default([]),
  volumes: z.array(z.union([bind, z.string().regex(/^[^:]+:\/[^:]*(?::ro)?$/)])).default([]),
  tmpfs: z.array(z.string().startsWith('/')).optional(),
  shm_size: z.string().optional(),
  ports: z.array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/)).default([]),
  network_mode: z.string().startsWith('service:').optional(),
  healthcheck: healthcheck.optional(),
  depends_on: z
    .union([
      z.array(name),
      z.record(name, z.strictObject({ condition: z.enum(['service_healthy', 'service_started']) })),
    ])
    .optional(),
});

const composeFile = z.strictObject({
  name,
  services: z.record(name, service),
  volumes: z.record(name, z.strictObject({})),
  secrets: z.record(name, z.strictObject({ file: z.string() })),
});

export type Service = z.infer<typeof service>;

export const composeText = textOf('docker-compose.yml');

export function readCompose() {
  const { 'x-hardened': _, ...document } = parse(composeText, { merge: true }) as Record<string, unknown>;
  return composeFile.parse(document);
}

export interface Instruction {
  readonly word: string;
  readonly rest: string;
}

/** The instructions of the Dockerfile in their order, continued lines joined. */
export function readDockerfile(): Instruction[] {
  const lines = textOf('Dockerfile')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const [, word = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    return { word, rest };
  });
}

export function textOf(file: string): string {
  return readFileSync(path.join(REPOSITORY, file), 'utf8');
}

/** The last instruction of that word. */
export function lastOf(word: string): string {
  return readDockerfile().findLast((instruction) => instruction.word === word)?.rest ?? '';
}

/** What ENV of the image sets. */
export function imageEnvironment(): Record<string, string> {
  const pairs = lastOf('ENV').split(/\s+/);
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}
