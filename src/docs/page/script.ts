/** The script of the page: the search box, and the buttons that copy SQL. Without it the page shows everything. */
export const PAGE_SCRIPT = `
'use strict';
const box = document.getElementById('search');
const count = document.getElementById('found');
const things = [...document.querySelectorAll('section.thing')];
const articles = [...document.querySelectorAll('article')];
const links = new Map([...document.querySelectorAll('nav a[data-of]')].map((a) => [a.dataset.of, a.parentElement]));
const text = (node) => node.textContent.toLowerCase();

function search() {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const has = (content) => words.every((word) => content.includes(word));
  let tables = 0;
  let columns = 0;
  for (const thing of things) {
    const isWhole = has(text(thing.querySelector('header')));
    let shown = 0;
    for (const row of thing.querySelectorAll('tr[id]')) {
      row.hidden = !isWhole && !has(thing.id + ' ' + text(row));
      if (!row.hidden) shown += 1;
    }
    thing.hidden = !isWhole && shown === 0;
    if (!thing.hidden) tables += 1;
    columns += shown;
    const link = links.get(thing.id);
    if (link) link.hidden = thing.hidden;
  }
  for (const article of articles) article.hidden = !has(text(article.querySelector('h3')));
  for (const part of document.querySelectorAll('main > section.part'))
    part.hidden = words.length > 0 && !part.querySelector('section.thing:not([hidden]), article:not([hidden])');
  count.textContent = words.length === 0 ? '' : tables + ' tables, ' + columns + ' columns';
}

function show() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target || target.offsetParent !== null) return;
  box.value = '';
  search();
  target.scrollIntoView();
}

async function copy(button) {
  const pre = button.parentElement.querySelector('pre');
  try {
    await navigator.clipboard.writeText(pre.textContent);
  } catch {
    getSelection().selectAllChildren(pre);
    document.execCommand('copy');
  }
  button.textContent = 'copied';
}

box.addEventListener('input', search);
addEventListener('hashchange', show);
for (const button of document.querySelectorAll('.sql button')) {
  button.hidden = false;
  button.addEventListener('click', () => copy(button));
}
document.getElementById('searching').hidden = false;
search(); // a browser keeps what was typed when the page is loaded again
`;
