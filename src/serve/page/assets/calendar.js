/**
 * The calendar from its first day to its newest. Only months in sight are drawn, from the letters of the model; what a letter means is
 * read from the legend. The tables are those that the server makes (views/calendar.ts). The whole is one stop of the Tab key: the
 * current day has it, arrow keys move it.
 *
 * @typedef {{ pipeline: string, from: string, cells: string }} Row
 * @typedef {{ pipeline: string, day: string }} Place
 */

const MS_PER_DAY = 86_400_000;
/** So far outside of what is seen a month is drawn already. */
const AHEAD = '0px 600px';

/** Of a month that has just begun: its name needs room. */
const FEWEST_DAYS = 7;

/** @param {string} day */
const numberOf = (day) => Date.parse(`${day}T00:00:00Z`) / MS_PER_DAY;
/** @param {number} number */
const dayOf = (number) => new Date(number * MS_PER_DAY).toISOString().slice(0, 10);
/** @param {string} month @param {number} by */
const monthAfter = (month, by) => {
  const date = new Date(`${month}-01T00:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + by);
  return date.toISOString().slice(0, 7);
};
/** @param {string} month */
const daysIn = (month) => numberOf(`${monthAfter(month, 1)}-01`) - numberOf(`${month}-01`);

const monthName = new Intl.DateTimeFormat('en-US', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** @type {Readonly<Record<string, number>>} */
const DAY_STEPS = { ArrowLeft: -1, ArrowRight: 1 };

export class Calendar {
  /** @type {readonly Row[]} */
  #rows = [];
  /** @type {Place | null} The day that has the Tab stop. */
  #current = null;
  /** @type {Map<string, HTMLElement>} Months, drawn or blank. */
  #months = new Map();
  #today = '';

  /** @param {HTMLElement} frame */
  constructor(frame) {
    this.frame = frame;
    this.strip = /** @type {HTMLElement} */ (frame.querySelector('.months'));
    this.states = new Map(
      [...document.querySelectorAll('.legend li')].map((item) => {
        const { letter = '', word = '', sign = '' } = /** @type {HTMLElement} */ (item).dataset;
        return [letter, { word, sign }];
      }),
    );
    this.observer = new IntersectionObserver((entries) => this.#onSight(entries), {
      root: this.strip,
      rootMargin: AHEAD,
    });
    for (const month of this.strip.querySelectorAll('table')) this.#adopt(month);
    this.strip.addEventListener('keydown', (event) => this.#onKey(event));
    this.strip.addEventListener('focusin', ({ target }) => this.#onFocus(target));
    for (const link of document.querySelectorAll('.years a'))
      link.addEventListener('click', (event) => this.#onYear(event));
  }

  /**
   * What is known now; only what differs is drawn again.
   * @param {readonly Row[]} rows
   * @param {string} today
   */
  show(rows, today) {
    const before = this.#rows;
    const isFirst = before.length === 0;
    this.#rows = rows;
    const isSameDay = today === this.#today;
    this.#today = today;
    this.#layOut();
    this.#current ??= this.#newest();
    for (const [month, table] of this.#months)
      if (table.matches('table')) {
        if (isFirst || !isSameDay) this.#redraw(month);
        else this.#update(month, before);
      }
    if (isFirst) this.#toYear(this.frame.dataset.year ?? '');
  }

  /** A place for every month, newest first. */
  #layOut() {
    const known = this.#rows.filter(({ cells }) => cells.length > 0);
    if (known.length === 0) return;
    const firsts = known.map(({ from }) => from).sort();
    const lasts = known.map(({ from, cells }) => dayOf(numberOf(from) + cells.length - 1)).sort();
    const oldest = /** @type {string} */ (firsts[0]).slice(0, 7);
    /** @type {HTMLElement | null} */
    let newer = null;
    this.strip.querySelector('.none')?.remove();
    for (let month = /** @type {string} */ (lasts.at(-1)).slice(0, 7); month >= oldest; month = monthAfter(month, -1)) {
      const place = this.#months.get(month) ?? this.#adopt(this.#blank(month));
      if (newer === null ? this.strip.firstElementChild !== place : newer.nextElementSibling !== place) {
        if (newer === null) this.strip.prepend(place);
        else newer.after(place);
      }
      newer = place;
    }
  }

  /** @param {HTMLElement} place */
  #adopt(place) {
    this.#months.set(place.dataset.month ?? '', place);
    this.observer.observe(place);
    return place;
  }

  /** @param {string} month */
  #blank(month) {
    const place = document.createElement('div');
    place.className = 'month blank';
    place.style.width = `calc(${this.#shownIn(month)} * var(--cell))`;
    place.dataset.month = month;
    return place;
  }

  /** How many of its days are shown: none after the last that is known. @param {string} month */
  #shownIn(month) {
    const first = numberOf(`${month}-01`);
    const lasts = this.#rows
      .filter(({ cells }) => cells.length > 0)
      .map(({ from, cells }) => numberOf(from) + cells.length - 1);
    return Math.min(daysIn(month), Math.max(FEWEST_DAYS, ...lasts.map((last) => last - first + 1)));
  }

  /** @param {string} month @param {HTMLElement} place */
  #put(month, place) {
    const old = this.#months.get(month);
    if (old) this.observer.unobserve(old);
    old?.replaceWith(place);
    this.#adopt(place);
  }

  /** @param {readonly IntersectionObserverEntry[]} entries */
  #onSight(entries) {
    for (const { target, isIntersecting } of entries) {
      const month = /** @type {HTMLElement} */ (target).dataset.month ?? '';
      if (this.#months.get(month) !== target) continue;
      const isDrawn = target.matches('table');
      if (isIntersecting && !isDrawn) this.#put(month, this.#table(month));
      else if (!isIntersecting && isDrawn && month !== this.#current?.day.slice(0, 7))
        this.#put(month, this.#blank(month));
    }
  }

  /** @param {string} month */
  #redraw(month) {
    const hadFocus = this.#months.get(month)?.contains(document.activeElement);
    this.#put(month, this.#table(month));
    if (hadFocus && this.#current) this.#linkAt(this.#current)?.focus({ preventScroll: true });
  }

  /** @param {string} month @returns {HTMLTableElement} */
  #table(month) {
    const table = document.createElement('table');
    const count = this.#shownIn(month);
    table.className = 'month';
    table.dataset.month = month;
    table.setAttribute('role', 'grid');
    const name = document.createElement('span');
    name.textContent = monthName.format(new Date(`${month}-01T00:00:00Z`));
    table.createCaption().append(name);
    const head = table.createTHead().insertRow();
    head.insertCell().className = 'unseen';
    for (let i = 1; i <= count; i += 1) head.append(this.#dayHead(month, i));
    const body = table.createTBody();
    for (const row of this.#rows) {
      const line = body.insertRow();
      const heading = document.createElement('th');
      heading.scope = 'row';
      heading.className = 'unseen';
      heading.textContent = row.pipeline;
      line.append(heading);
      for (let i = 0; i < count; i += 1) {
        const link = this.#link(row, dayOf(numberOf(`${month}-01`) + i));
        const cell = line.insertCell();
        if (link) cell.append(link);
      }
    }
    return table;
  }

  /** @param {string} month @param {number} number */
  #dayHead(month, number) {
    const head = document.createElement('th');
    head.scope = 'col';
    head.textContent = String(number);
    if (`${month}-${String(number).padStart(2, '0')}` === this.#today) {
      head.className = 'today';
      head.setAttribute('aria-label', `${number}, today`);
    }
    return head;
  }

  /** @param {Row} row @param {string} day */
  #link(row, day) {
    const letter = letterAt(row, day);
    if (!this.states.has(letter)) return null;
    const link = document.createElement('a');
    link.href = `/cell/${encodeURIComponent(row.pipeline)}/${day}`;
    this.#say(link, row, day, letter);
    const isCurrent = this.#current?.pipeline === row.pipeline && this.#current.day === day;
    link.tabIndex = isCurrent ? 0 : -1;
    return link;
  }

  /** @param {HTMLElement} link @param {Row} row @param {string} day @param {string} letter */
  #say(link, { pipeline }, day, letter) {
    const state = this.states.get(letter);
    link.className = `cell ${letter}`;
    link.textContent = state?.sign ?? '';
    link.setAttribute('aria-label', `${pipeline} ${day} ${state?.word ?? ''}`);
  }

  /** @param {string} month @param {readonly Row[]} before */
  #update(month, before) {
    const first = numberOf(`${month}-01`);
    for (const [i, row] of this.#rows.entries()) {
      const old = before[i];
      for (let number = first; number < first + daysIn(month); number += 1) {
        const day = dayOf(number);
        const letter = letterAt(row, day);
        const was = old ? letterAt(old, day) : '';
        if (letter === was) continue;
        const link = this.#linkAt({ pipeline: row.pipeline, day });
        if (!link || !this.states.has(letter)) return this.#redraw(month);
        this.#say(link, row, day, letter);
      }
    }
  }

  /** The link of a place, if its month is drawn. @param {Place} place @returns {HTMLElement | null} */
  #linkAt({ pipeline, day }) {
    const row = this.#rows.findIndex((one) => one.pipeline === pipeline);
    const line = this.#months.get(day.slice(0, 7))?.querySelectorAll('tbody tr')[row];
    return line?.children[Number(day.slice(8))]?.querySelector('a') ?? null;
  }

  /** @returns {Place | null} */
  #newest() {
    const row = this.#rows.find(({ cells }) => cells.length > 0);
    return row ? { pipeline: row.pipeline, day: dayOf(numberOf(row.from) + row.cells.length - 1) } : null;
  }

  /** @param {EventTarget | null} target */
  #onFocus(target) {
    const [, , pipeline, day] = target instanceof HTMLAnchorElement ? target.pathname.split('/') : [];
    if (pipeline && day) this.#moveTo({ pipeline: decodeURIComponent(pipeline), day });
  }

  /** Gives a place the Tab stop. @param {Place} place */
  #moveTo(place) {
    const old = this.#current && this.#linkAt(this.#current);
    if (old) old.tabIndex = -1;
    this.#current = place;
    if (!this.#months.get(place.day.slice(0, 7))?.matches('table')) this.#redraw(place.day.slice(0, 7));
    const link = this.#linkAt(place);
    if (link) link.tabIndex = 0;
    return link;
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.altKey || event.metaKey || !this.#current) return;
    const place = this.#placeAfter(event.key, event.ctrlKey, this.#current);
    if (!place) return;
    event.preventDefault();
    const link = this.#moveTo(place);
    link?.focus({ preventScroll: true });
    link?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  /** @param {string} key @param {boolean} isFar @param {Place} from @returns {Place | null} null: not a key of the calendar. */
  #placeAfter(key, isFar, { pipeline, day }) {
    const at = this.#rows.findIndex((one) => one.pipeline === pipeline);
    const row = this.#rows[at];
    if (!row) return null;
    const step = DAY_STEPS[key] ?? 0;
    if (step !== 0) return this.#dayFrom(row, numberOf(day) + step, step) ?? { pipeline, day };
    if (key === 'ArrowUp' || key === 'ArrowDown') return this.#rowFrom(at, day, key === 'ArrowUp' ? -1 : 1);
    const month = day.slice(0, 7);
    const last = numberOf(row.from) + row.cells.length - 1;
    if (key === 'Home') return this.#dayFrom(row, isFar ? numberOf(row.from) : numberOf(`${month}-01`), 1);
    if (key === 'End') return this.#dayFrom(row, isFar ? last : numberOf(`${monthAfter(month, 1)}-01`) - 1, -1);
    if (key !== 'PageUp' && key !== 'PageDown') return null;
    const by = key === 'PageUp' ? -1 : 1;
    const other = monthAfter(month, by);
    const wanted = numberOf(`${other}-01`) + Math.min(Number(day.slice(8)), daysIn(other)) - 1;
    return this.#dayFrom(row, wanted, by) ?? this.#dayFrom(row, wanted, -by);
  }

  /** The nearest day of the row in that direction. @param {Row} row @param {number} number @param {number} step @returns {Place | null} */
  #dayFrom(row, number, step) {
    const first = numberOf(row.from);
    const begin = step > 0 ? Math.max(number, first) : Math.min(number, first + row.cells.length - 1);
    for (let i = begin; i >= first && i < first + row.cells.length; i += step)
      if (this.states.has(letterAt(row, dayOf(i)))) return { pipeline: row.pipeline, day: dayOf(i) };
    return null;
  }

  /** The nearest row in that direction that has the day. @param {number} at @param {string} day @param {number} step */
  #rowFrom(at, day, step) {
    for (let i = at + step; i >= 0 && i < this.#rows.length; i += step) {
      const row = this.#rows[i];
      if (row && this.states.has(letterAt(row, day))) return { pipeline: row.pipeline, day };
    }
    return this.#current;
  }

  /** @param {Event} event */
  #onYear(event) {
    const link = /** @type {HTMLAnchorElement} */ (event.currentTarget);
    event.preventDefault();
    for (const one of document.querySelectorAll('.years a')) one.removeAttribute('aria-current');
    link.setAttribute('aria-current', 'true');
    this.#toYear(new URL(link.href).searchParams.get('year') ?? '');
  }

  /** To the newest month of a year; '' to the newest of all. @param {string} year */
  #toYear(year) {
    const month = [...this.#months.keys()]
      .filter((one) => one.startsWith(year))
      .sort()
      .at(-1);
    const place = month && this.#months.get(month);
    if (place) this.strip.scrollLeft += place.getBoundingClientRect().right - this.strip.getBoundingClientRect().right;
  }
}

/** @param {Row} row @param {string} day '' where the row has no such day. */
function letterAt({ from, cells }, day) {
  return day < from ? '' : cells.charAt(numberOf(day) - numberOf(from));
}
