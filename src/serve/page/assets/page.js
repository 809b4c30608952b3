/**
 * Keeps the page alive. Every ten seconds it asks for the model; when that is not the one that the page was made of, the page itself is asked
 * for again, and the parts that differ are put in the place of the old ones. Focus, scrolling and what was opened stay as they are. While nobody looks,
 * nobody asks.
 */
import { Calendar } from './calendar.js';
import { openCellsIn } from './cell-dialog.js';

const ASK_EVERY_MS = 10_000;
const PATIENCE_MS = 20_000;

const at = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const parts = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[data-live]')]);
/** What the server said last of every part: what a reader opened since is no difference. */
const drawn = new Map(parts.map((part) => [part.id, part.outerHTML]));
const calendar = new Calendar(/** @type {HTMLElement} */ (document.querySelector('.calendar')));
// Apart, since the page is alive also where they cannot be drawn.
const curves = import('./curves.js').then(({ Curves }) => new Curves(at('curves')));
curves.catch(() => undefined);
/** Of what the parts show, as the server says in the page itself: it may be older than the first model that is asked for. */
let shown = at('main').dataset.version ?? '';
/** Of the model, while the parts show the same. */
let etag = '';
let names = '';
let timer = 0;
let isAsking = false;
/** @type {string | null} */
let goneSince = null;

openCellsIn(/** @type {HTMLDialogElement} */ (at('cell-dialog')));
for (const hint of document.querySelectorAll('.keys')) /** @type {HTMLElement} */ (hint).hidden = false;
document.addEventListener('visibilitychange', () => {
  clearTimeout(timer);
  if (!document.hidden) ask();
});
ask();

async function ask() {
  if (isAsking) return;
  isAsking = true;
  try {
    const answer = await fetch('/api/page', {
      headers: etag === '' ? {} : { 'if-none-match': etag },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (answer.status === 401 || answer.status === 403) announce('Sign in again to see what is new.');
    else if (!answer.ok && answer.status !== 304) isGone();
    else {
      if (answer.ok) {
        const given = answer.headers.get('etag') ?? '';
        await take(await answer.json(), versionIn(given));
        etag = versionIn(given) === shown ? given : '';
      }
      madeAt(answer.headers.get('date'));
      goneSince = null;
      announce('');
    }
  } catch {
    isGone();
  } finally {
    isAsking = false;
    clearTimeout(timer);
    if (!document.hidden) timer = window.setTimeout(ask, ASK_EVERY_MS);
  }
}

/** A proxy may have marked it as weak, or taken it out: then the page is asked for each time. @param {string} tag */
function versionIn(tag) {
  return /"(.+)"/.exec(tag)?.[1] ?? '';
}

/** @param {import('../model.ts').PageModel} model @param {string} version */
async function take(model, version) {
  const rows = model.pipelines.map(({ pipeline, enabled }) => `${pipeline} ${enabled}`).join();
  if (names !== '' && rows !== names) return location.reload();
  if (version !== shown) await renew();
  names = rows;
  calendar.show(model.pipelines, model.today);
  curves.then((drawn) => drawn.show(model.money)).catch(() => undefined);
}

/** @param {string | null} date As of when the server says that it is so. */
function madeAt(date) {
  if (date === null) return;
  const made = /** @type {HTMLTimeElement} */ (at('made-at'));
  made.dateTime = new Date(date).toISOString();
  made.textContent = made.dateTime.slice(0, 19).replace('T', ' ');
}

async function renew() {
  const answer = await fetch(location.pathname + location.search, { signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!answer.ok) throw new Error(String(answer.status));
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const before = at('summary').textContent;
  for (const { id } of parts) {
    const next = page.getElementById(id);
    if (!next || next.outerHTML === drawn.get(id)) continue;
    drawn.set(id, next.outerHTML);
    replace(at(id), next);
  }
  const notice = page.getElementById('notice');
  if (notice) {
    document.getElementById('notice')?.remove(); // without another one it stays: the server says each once
    at('main').prepend(document.adoptNode(notice));
  }
  shown = page.getElementById('main')?.dataset.version ?? '';
  document.title = page.title;
  const summary = at('summary').textContent;
  if (summary !== before) at('news').textContent = summary;
}

/** @param {HTMLElement} old @param {HTMLElement} next */
function replace(old, next) {
  for (const { id } of old.querySelectorAll('details[open]')) {
    const same = id && next.querySelector(`#${CSS.escape(id)}`);
    if (same) same.setAttribute('open', '');
  }
  const scrolled = [...old.querySelectorAll('.wide')].map((box) => box.scrollLeft);
  const focused = old.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  old.className = next.className;
  old.replaceChildren(...document.adoptNode(next).childNodes);
  for (const [i, box] of [...old.querySelectorAll('.wide')].entries()) box.scrollLeft = scrolled[i] ?? 0;
  if (focused === null) return;
  const same = [...old.querySelectorAll('a, button, summary')].find((one) => nameOf(one) === focused);
  const target = same ?? old.closest('section')?.querySelector('h2');
  if (!(target instanceof HTMLElement)) return;
  if (target.matches('h2')) target.tabIndex = -1;
  target.focus({ preventScroll: true });
}

/** By what a link or a button is found again after its part was replaced. @param {Element | null} one */
function nameOf(one) {
  if (one === null) return null;
  return [
    one.tagName,
    one.parentElement?.id,
    one.getAttribute('href'),
    one.getAttribute('aria-label'),
    one.textContent,
  ].join('\n');
}

function isGone() {
  goneSince ??= new Date().toTimeString().slice(0, 5);
  announce(`The server has not answered since ${goneSince}; what you see may be old.`);
}

/** @param {string} words Said once, however often it is so. */
function announce(words) {
  if (at('connection').textContent !== words) at('connection').textContent = words;
}
