/** Opens what is known of a day in a dialog: the page of that day, without its frame. Who wants a page of it opens the link in a new tab. */

const CELL = 'a[href^="/cell/"]';

/** @param {HTMLDialogElement} dialog */
export function openCellsIn(dialog) {
  /** Of clicks that follow each other fast, only the last one is shown. */
  let asked = 0;
  document.addEventListener('click', async (event) => {
    const link = event.target instanceof Element ? event.target.closest(CELL) : null;
    if (!(link instanceof HTMLAnchorElement) || event.button !== 0) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    asked += 1;
    const turn = asked;
    if (!dialog.open) fill(dialog, said('Asking…', link));
    dialog.setAttribute('aria-busy', 'true');
    if (!dialog.open) dialog.showModal();
    const content = await contentOf(link);
    if (turn !== asked || !dialog.open) return;
    dialog.removeAttribute('aria-busy');
    fill(dialog, content);
  });
  // A click on the backdrop is one on the dialog itself: what it shows lies in a box of its own.
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => dialog.replaceChildren());
}

/** @param {HTMLAnchorElement} link @returns {Promise<Element>} */
async function contentOf(link) {
  try {
    const answer = await fetch(link.href, { signal: AbortSignal.timeout(30_000) });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    return page.getElementById('cell') ?? said(`The server answered ${answer.status}.`, link);
  } catch {
    return said('The server does not answer.', link);
  }
}

/** @param {string} words @param {HTMLAnchorElement} link */
function said(words, link) {
  const box = document.createElement('article');
  box.id = 'cell';
  const title = document.createElement('h1');
  title.textContent = decodeURIComponent(link.pathname.split('/').slice(2).join(' '));
  const line = document.createElement('p');
  line.textContent = words;
  box.append(title, line);
  return box;
}

/** @param {HTMLDialogElement} dialog @param {Element} content */
function fill(dialog, content) {
  const box = document.createElement('div');
  box.className = 'box';
  const close = document.createElement('button');
  close.type = 'button';
  close.className = 'close';
  close.textContent = 'Close';
  close.addEventListener('click', () => dialog.close());
  const title = content.querySelector('h1');
  if (title) dialog.setAttribute('aria-label', title.textContent ?? '');
  box.append(close, document.adoptNode(content));
  dialog.replaceChildren(box);
  dialog.scrollTop = 0;
  if (dialog.open) close.focus();
}
