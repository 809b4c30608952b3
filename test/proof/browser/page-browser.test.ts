/** The page in Chromium, of an installation with a held slice, a rejected row and drift: by keyboard, without a script, in the dark. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import { assets, pageHtml } from '../../../src/serve/page/views/index.ts';
import type { StartProgram } from '../../../src/serve/program-process.ts';
import { pipelineRow, READER, WELL } from '../../serve/page/made-up.ts';
import { openPageScene, type PageSceneOptions, TOKEN, typing } from '../../serve/page/scene.ts';
import { openBrowser, unpackBrowser } from '../../support/chromium.ts';
import { HANG_MS } from '../../support/hang.ts';
import { openWorld, type World } from '../../support/nights.ts';

let browser: Browser;
let world: World;
/** Lost most of its items in the second night. */
let held: Day;

beforeAll(async () => {
  browser = await openBrowser();
  world = await openWorld({ ordersPerDay: 30, lookbackDays: 4 });
  await world.night();
  world.passDays(1);
  held = addDays(world.today(), -4);
  world.sandbox.change({ kind: 'shrink-day', report: 'orders', day: held, items: 2 });
  world.sandbox.addFault({ endpoint: 'commissions', kind: 'unknown-field', field: 'voucher' });
  world.sandbox.addFault({ endpoint: 'orders', kind: 'raw-value', field: 'commission', json: '"n/a"', item: 2 });
  await world.night();
}, 120_000);
afterAll(async () => {
  await browser.close();
  await world.close();
});

/** Evaluated in the browser. */
const faintTexts = readFileSync(path.join(import.meta.dirname, 'page-contrast.js'), 'utf8');

interface Opened {
  readonly page: Page;
  readonly url: string;
  /** Errors of the console, and requests to anybody else. */
  readonly troubles: readonly string[];
}

/** A page of the browser, and what went wrong in it. */
async function tab(options: BrowserContextOptions, isOurs: (url: URL) => boolean) {
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 900 }, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(HANG_MS);
  const troubles: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) troubles.push(message.text());
  });
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('request', (request) => {
    if (!isOurs(new URL(request.url()))) troubles.push(`asked ${request.url()}`);
  });
  return { page, troubles };
}

async function open(options: BrowserContextOptions = {}, scene: PageSceneOptions = {}): Promise<Opened> {
  const { port } = await openPageScene(world, scene);
  const url = `http://127.0.0.1:${port}`;
  const { page, troubles } = await tab(options, ({ origin }) => origin === url);
  await page.clock.install();
  await page.goto(url);
  if (options.javaScriptEnabled !== false) await page.locator('.curve .uplot').nth(1).waitFor();
  return { page, url, troubles };
}

const current = (page: Page) => page.evaluate<string | null>(`document.activeElement.getAttribute('aria-label')`);

it('the browser needs no library but its own, and those that Node itself needs', async () => {
  const { program, libraries, environment } = await unpackBrowser();
  const told = execFileSync('ldd', [program], { encoding: 'utf8', env: { ...process.env, ...environment } });
  const lines = told
    .trim()
    .split('\n')
    .map((line) => line.trim());
  expect(lines.length).toBeGreaterThan(5);
  const ofTheSystem = /^(?:linux-vdso|libdl|libpthread|libm|libc|libgcc_s|librt|\/lib64\/ld-linux-x86-64)\.so/;
  expect(lines.filter((line) => !line.includes(libraries) && !ofTheSystem.test(line))).toEqual([]);
});

it('without a script everything can be read, and a day is a page of its own', async () => {
  const { page, troubles } = await open({ javaScriptEnabled: false });
  expect(await page.locator('h1').textContent()).toBe('2 things need you');
  for (const section of [
    'Days',
    'Held back',
    'Rejected rows',
    'Revenue and commission',
    'Reconciliation',
    'Pipelines',
    'Runs',
    'Drift',
  ])
    expect(await page.getByRole('region', { name: section }).isVisible()).toBe(true);
  expect(await page.getByText(`partner-etl release orders ${held}`).isVisible()).toBe(true);
  expect(await page.locator('#curves').isVisible()).toBe(false);
  await page.getByText('Sums by month').click();
  expect(await page.getByRole('table', { name: 'Revenue and commission by month' }).isVisible()).toBe(true);
  const cell = page.getByRole('link', { name: `orders ${held} held`, exact: true });
  expect(await cell.isVisible()).toBe(true);
  await cell.click();
  expect(new URL(page.url()).pathname).toBe(`/cell/orders/${held}`);
  expect(await page.locator('h1').textContent()).toBe(`orders ${held} held back`);
  expect(await page.getByRole('table', { name: 'Control sums' }).isVisible()).toBe(true);
  expect(troubles).toEqual([]);
});

it('the calendar is one stop of the Tab key, arrow keys move in it, and Enter opens a day until Escape', async () => {
  const { page, troubles } = await open();
  const stops = page.locator('.months a[tabindex="0"]');
  expect(await stops.count()).toBe(1);
  await stops.focus();
  const yesterday = addDays(world.today(), -1);
  expect(await current(page)).toMatch(`promotions ${yesterday} `);
  await page.keyboard.press('ArrowDown');
  for (const _ of [1, 2, 3]) await page.keyboard.press('ArrowLeft');
  expect(await current(page)).toBe(`orders ${held} held`);
  await page.keyboard.press('End');
  expect(await current(page)).toMatch(`orders ${yesterday} `);
  await page.keyboard.press('Control+Home');
  expect(await current(page)).toMatch(/^orders 2026-03-1\d /);
  for (let i = 0; i < 10 && !(await current(page))?.includes(held); i += 1) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: `orders ${held} held back` });
  await dialog.waitFor();
  expect(await dialog.getByRole('table', { name: /^Versions of the day in duckdb/ }).isVisible()).toBe(true);
  expect(await dialog.getByText(`partner-etl release orders ${held}`).isVisible()).toBe(true);
  expect(new URL(page.url()).pathname).toBe('/');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  expect(await current(page)).toBe(`orders ${held} held`);
  await page.keyboard.press('Tab');
  expect(await page.evaluate(`document.activeElement.closest('.months')`)).toBeNull();
  expect(troubles).toEqual([]);
});

it('its parts have the roles and names by which a screen reader moves', async () => {
  const { page } = await open();
  expect(await page.getByRole('banner').count()).toBe(1);
  expect(await page.getByRole('main').count()).toBe(1);
  expect(await page.getByRole('navigation', { name: 'Sections' }).count()).toBe(1);
  expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
  expect(await page.getByRole('grid', { name: 'March 2026' }).getByRole('rowheader', { name: 'orders' }).count()).toBe(
    1,
  );
  expect(await page.getByRole('gridcell', { name: `orders ${held} held` }).count()).toBe(1);
  expect(
    await page.getByRole('table', { name: 'The last runs' }).getByRole('columnheader', { name: 'Result' }).count(),
  ).toBe(1);
  expect(await page.getByRole('img', { name: /^Curve of revenue per day/ }).count()).toBe(1);
  expect(await page.getByRole('status').count()).toBeGreaterThan(0);
  const unnamed = await page.evaluate(
    `[...document.querySelectorAll('a, button, meter, summary')].filter((one) => !(one.ariaLabel ?? one.textContent).trim()).length`,
  );
  expect(unnamed).toBe(0);
});

it.each(['light', 'dark'] as const)(
  'every text has a contrast of 4.5 at least, and every state another look: %s',
  async (colorScheme) => {
    const { page, url } = await open({ colorScheme });
    expect(await page.evaluate(faintTexts)).toEqual([]);
    const looks = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.legend .cell')].map((cell) => getComputedStyle(cell)).map((style) => style.backgroundColor + style.borderStyle)`,
    );
    expect(new Set(looks).size).toBe(7);
    for (const path of [`/cell/orders/${held}`, '/login']) {
      await page.goto(url + path);
      expect([path, await page.evaluate(faintTexts)]).toEqual([path, []]);
    }
  },
);

it('on a telephone nothing is wider than the screen: what is wide scrolls by itself', async () => {
  const { page, url } = await open({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  for (const path of ['/', `/cell/orders/${held}`, '/login']) {
    await page.goto(url + path);
    expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, 360]);
  }
});

it('who signs in releases a held slice and tries rejected rows again, and is told what came of it', async () => {
  const { page, url, troubles } = await open();
  await page.getByRole('link', { name: 'Sign in', exact: true }).click();
  await page.getByLabel('Token').fill(TOKEN);
  await page.keyboard.press('Enter');
  await page.waitForURL(`${url}/`);
  await page.getByRole('button', { name: `Release orders ${held}` }).click();
  await page.locator('#notice').waitFor();
  expect(await page.locator('#holds').textContent()).toContain('Nothing is held back.');
  expect(await page.getByRole('link', { name: `orders ${held} held` }).count()).toBe(0);
  await page.getByRole('button', { name: 'Try the rejected rows of orders again' }).click();
  await page.locator('#notice').waitFor();
  expect(await page.locator('#notice').textContent()).toMatch(/orders/);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor();
  expect(troubles).toEqual([]);
});

it('a release that takes long shows on the open page when it is done, also when it ended while the page was loading', async () => {
  const day = addDays(held, 1);
  world.sandbox.change({ kind: 'shrink-day', report: 'promotions', day, items: 1 });
  world.clock.passUpTo(100_000);
  world.clock.set(world.clock.now() + 60_000);
  await world.night({ names: ['promotions'] });
  const [permitted, passed, asked] = [gate(), gate(), gate()];
  const type = typing(world, []);
  let ended: Promise<unknown> = Promise.resolve();
  const slow: StartProgram = (words) => {
    const end = permitted.opened.then(() => type(words).ended);
    ended = end;
    return { ended: end, stop: () => undefined, kill: () => undefined };
  };
  const { page, url, troubles } = await open({}, { start: slow });
  await page.goto(`${url}/login`);
  await page.getByLabel('Token').fill(TOKEN);
  await page.keyboard.press('Enter');
  await page.waitForURL(`${url}/`);
  const button = page.getByRole('button', { name: `Release promotions ${day}` });
  await button.waitFor();
  await page.route('**/api/page', async (route) => {
    asked.open();
    await passed.opened;
    await route.continue();
  });
  const clicked = button.click();
  await world.clock.asleep((ms) => ms === 5_000);
  await world.clock.advance(5_000);
  await clicked;
  await page.getByText('is under way').waitFor();
  await asked.opened;
  permitted.open();
  await ended;
  passed.open();
  await button.waitFor({ state: 'detached' });
  expect(await page.locator('#notice').textContent()).toMatch(`The release of promotions ${day}: done`);
  expect(troubles).toEqual([]);
});

/** Closed until it is opened. */
function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

it('a new night comes in by itself, and nobody loses focus or what was opened', async () => {
  const { page, troubles } = await open();
  await page.getByText('Sums by month').click();
  const day = world.today();
  const runs = await page.locator('#runs tbody tr').count();
  expect(await page.getByRole('gridcell', { name: `orders ${day}` }).count()).toBe(0);
  world.passDays(1);
  world.clock.passUpTo(100_000);
  await world.night();
  world.clock.passUpTo(-1);
  await page.clock.fastForward(10_000);
  await page.getByRole('gridcell', { name: `orders ${day}` }).waitFor();
  expect(await page.locator('#runs tbody tr').count()).toBe(runs + 1);
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Sums by month');
  expect(await page.getByRole('table', { name: 'Revenue and commission by month' }).isVisible()).toBe(true);
  expect(troubles).toEqual([]);
});

it('when the server is gone the page says so, and again when it is back; nobody asks while nobody looks', async () => {
  const { page } = await open();
  const connection = page.locator('#connection');
  await page.context().setOffline(true);
  await page.clock.fastForward(10_000);
  await connection.getByText(/has not answered since \d\d:\d\d/).waitFor();
  await page.context().setOffline(false);
  await page.clock.fastForward(10_000);
  await expect.poll(() => connection.textContent()).toBe('');
  let asked = 0;
  page.on('request', () => {
    asked += 1;
  });
  await page.evaluate(`
    Object.defineProperty(document, 'hidden', { get: () => true });
    document.dispatchEvent(new Event('visibilitychange'));`);
  await page.clock.fastForward(60_000);
  expect(asked).toBe(0);
});

it('of ten years of twelve pipelines only what is in sight is drawn, just as the server would', async () => {
  const pipelines = Array.from({ length: 12 }, (_, i) =>
    pipelineRow(`pipeline-${i}`, 'sosq'.repeat(914).slice(0, 3653)),
  );
  const model = { ...WELL, pipelines };
  const { page, troubles } = await tab({}, ({ host }) => host === 'page.test');
  await page.route('http://page.test/**', (route) => {
    const { pathname, searchParams } = new URL(route.request().url());
    const asset = assets().get(pathname.replace('/assets/', ''));
    if (asset) return route.fulfill({ contentType: asset.type, body: asset.body });
    if (pathname === '/api/page') return route.fulfill({ json: model });
    const year = searchParams.get('year');
    return route.fulfill({
      contentType: 'text/html',
      body: pageHtml(model, READER, year === null ? null : Number(year)),
    });
  });
  const drawn = () => page.locator('.months td a').count();
  const monthText = () => page.locator('table[data-month="2019-12"] tbody').innerHTML();
  await page.goto('http://page.test/');
  await page.locator('.months .blank').first().waitFor({ state: 'attached' });
  await expect.poll(() => page.locator('.months .month').count()).toBe(121);
  await expect.poll(drawn).toBeLessThan(2500);
  await page.getByRole('link', { name: '2019', exact: true }).click();
  await page.locator('table[data-month="2019-12"]').waitFor();
  await expect.poll(drawn).toBeLessThan(3000);
  const byScript = await monthText();
  await page.locator('.months a[tabindex="0"]').focus();
  await page.keyboard.press('Control+Home');
  expect(await current(page)).toBe('pipeline-0 2016-11-20 settled');
  await page.keyboard.press('PageDown');
  expect(await current(page)).toBe('pipeline-0 2016-12-20 settled');
  expect(troubles).toEqual([]);
  const still = await tab({ javaScriptEnabled: false }, () => true);
  await still.page.setContent(pageHtml(model, READER, 2019));
  const byServer = await still.page.locator('table[data-month="2019-12"] tbody').innerHTML();
  const plain = (html: string) => html.replaceAll(/ tabindex="-?\d"|\n/g, '');
  const sorted = (html: string) =>
    plain(html).replaceAll(
      /<(\w+)((?: [a-z-]+="[^"]*")+)>/g,
      (_, tag: string, attributes: string) =>
        `<${tag} ${attributes
          .trim()
          .split(/(?<=") /)
          .sort()
          .join(' ')}>`,
    );
  expect(sorted(byScript)).toBe(sorted(byServer));
});
