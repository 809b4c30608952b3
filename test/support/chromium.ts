/**
 * Chromium as it comes from the package registry, with the shared libraries and the font that a bare machine lacks. It is unpacked once,
 * under node_modules/.cache; whoever unpacks at the same time does so elsewhere, and the first one done is kept.
 */
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as launcher } from 'playwright-core';
import { packageRoot } from './nights.ts';

/** Without these: a browser of one process ends with its first context, and what the page forbids must stay forbidden. */
const NOT_WANTED = ['--single-process', '--disable-web-security', '--allow-running-insecure-content'];

export interface Unpacked {
  readonly program: string;
  /** Shared libraries that belong to it. */
  readonly libraries: string;
  readonly environment: Readonly<Record<string, string>>;
}

export async function openBrowser(): Promise<Browser> {
  const { program, environment } = await unpackBrowser();
  return launcher.launch({
    executablePath: program,
    args: chromium.args.filter((word) => !NOT_WANTED.includes(word)),
    env: { ...process.env, ...environment },
  });
}

let unpacked: Promise<Unpacked> | null = null;

export function unpackBrowser(): Promise<Unpacked> {
  unpacked ??= unpack();
  return unpacked;
}

async function unpack(): Promise<Unpacked> {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error(
      `the package @sparticuz/chromium holds a browser for Linux on x64, and none for ${process.platform} on ${process.arch}`,
    );
  const manifest = await readFile(path.join(packageRoot, 'node_modules/@sparticuz/chromium/package.json'), 'utf8');
  const cache = path.join(packageRoot, 'node_modules/.cache');
  const folder = path.join(cache, `chromium-${(JSON.parse(manifest) as { version: string }).version}`);
  if (!(await isThere(folder))) await unpackInto(cache, folder);
  const libraries = path.join(folder, 'al2023', 'lib');
  const environment = { LD_LIBRARY_PATH: libraries, FONTCONFIG_FILE: path.join(folder, 'fonts.conf') };
  return { program: path.join(folder, 'chromium'), libraries, environment };
}

async function unpackInto(cache: string, folder: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  const mine = await mkdtemp(path.join(cache, 'unpacking-chromium-'));
  try {
    await unpackedBy(mine);
    const fonts = `<dir>${path.join(folder, 'fonts')}</dir><cachedir>${path.join(folder, 'fonts-cache')}</cachedir>`;
    const head = '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">';
    await writeFile(path.join(mine, 'fonts.conf'), `${head}<fontconfig>${fonts}</fontconfig>\n`);
    await rename(mine, folder).catch(async (failure: unknown) => {
      if (!(await isThere(folder))) throw failure;
    });
  } finally {
    await rm(mine, { recursive: true, force: true });
  }
}

/** The package unpacks into the folder for temporary files, and the libraries only where it takes the machine for a certain one. */
async function unpackedBy(folder: string): Promise<void> {
  const { TMPDIR: before, AWS_EXECUTION_ENV: machine } = process.env;
  Object.assign(process.env, { TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs20.x' });
  try {
    await chromium.executablePath();
  } finally {
    restore('TMPDIR', before);
    restore('AWS_EXECUTION_ENV', machine);
  }
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

function isThere(place: string): Promise<boolean> {
  return access(place).then(
    () => true,
    () => false,
  );
}
