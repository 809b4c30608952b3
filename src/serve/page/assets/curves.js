/**
 * The curves of revenue and commission. A curve needs numbers for its pixels; what is read off it is the exact text.
 *
 * @typedef {{ day: string, revenue: string, commission: string, commission_approved: string, commission_open: string }} MoneyDay
 * @typedef {{ name: keyof MoneyDay, label: string, colour: string, dash?: number[] }} Line
 */
import uPlot from 'uplot';

const S_PER_DAY = 86_400;
const HEIGHT = 200;
/** Between two days that are written under a curve. */
const STEPS_S = [1, 2, 7, 14, 30, 91, 182, 365, 730].map((days) => days * S_PER_DAY);

/** @type {Readonly<Record<string, readonly Line[]>>} */
const LINES = {
  'curve-revenue': [{ name: 'revenue', label: 'Revenue', colour: '--curve-1' }],
  'curve-commission': [
    { name: 'commission', label: 'Commission', colour: '--curve-1' },
    { name: 'commission_approved', label: 'Approved', colour: '--curve-2', dash: [7, 4] },
    { name: 'commission_open', label: 'Open', colour: '--curve-3', dash: [2, 3] },
  ],
};

const amount = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 });
const round = new Intl.NumberFormat('en-US');

export class Curves {
  /** @type {readonly (MoneyDay | null)[]} A place for every day from the first to the last; null: not loaded. */
  #days = [];
  /** @type {uPlot[]} */
  #plots = [];
  /** Of the newest, how many days are shown; 0: all. */
  #shown = 90;

  /** @param {HTMLElement} frame */
  constructor(frame) {
    this.frame = frame;
    for (const button of this.#buttons())
      button.addEventListener('click', () => this.#zoom(Number(button.dataset.days)));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      for (const plot of this.#plots) plot.redraw();
    });
    new ResizeObserver(() => {
      for (const plot of this.#plots) plot.setSize({ width: widthOf(plot.root.parentElement), height: HEIGHT });
    }).observe(frame);
  }

  /** @param {readonly MoneyDay[]} money */
  show(money) {
    if (money.length < 2) return;
    this.#days = everyDay(money);
    this.frame.hidden = false;
    if (this.#plots.length === 0) this.#plots = Object.entries(LINES).map(([id, lines]) => this.#draw(id, lines));
    else for (const [i, lines] of Object.values(LINES).entries()) this.#plots[i]?.setData(this.#data(lines), false);
    this.#zoom(this.#shown);
  }

  #buttons() {
    return [.../** @type {NodeListOf<HTMLButtonElement>} */ (this.frame.querySelectorAll('button[data-days]'))];
  }

  /** @param {number} days */
  #zoom(days) {
    this.#shown = days;
    for (const button of this.#buttons())
      button.setAttribute('aria-pressed', String(Number(button.dataset.days) === days));
    const times = this.#times();
    const max = times.at(-1) ?? 0;
    const min = days === 0 ? (times[0] ?? 0) : Math.max(times[0] ?? 0, max - (days - 1) * S_PER_DAY);
    for (const plot of this.#plots) plot.setScale('x', { min, max });
    const dayAt = (/** @type {number} */ time) => new Date(time * 1000).toISOString().slice(0, 10);
    for (const [id, lines] of Object.entries(LINES)) {
      const names = lines.map(({ label }) => label.toLowerCase()).join(', ');
      const words = `Curve of ${names} per day, ${dayAt(min)} to ${dayAt(max)}. The tables below say the same in figures.`;
      document.getElementById(id)?.setAttribute('aria-label', words);
    }
  }

  #times() {
    const first = this.#days.find((day) => day !== null);
    const start = first ? Date.parse(`${first.day}T00:00:00Z`) / 1000 : 0;
    return this.#days.map((_, i) => start + i * S_PER_DAY);
  }

  /** @param {readonly Line[]} lines @returns {uPlot.AlignedData} */
  #data(lines) {
    return [this.#times(), ...lines.map(({ name }) => this.#days.map((day) => (day ? Number(day[name]) : null)))];
  }

  /** @param {string} id @param {readonly Line[]} lines */
  #draw(id, lines) {
    const place = /** @type {HTMLElement} */ (document.getElementById(id));
    place.setAttribute('role', 'img');
    const axis = {
      stroke: () => colour('--soft'),
      grid: { stroke: () => colour('--line'), width: 1 },
      ticks: { stroke: () => colour('--line'), width: 1, size: 4 },
      font: '11px system-ui, sans-serif',
    };
    /** @type {uPlot.Options} */
    const options = {
      width: widthOf(place),
      height: HEIGHT,
      padding: [8, 40, 0, 0],
      // Days begin where the reader’s clock says nothing.
      tzDate: (time) => uPlot.tzDate(new Date(time * 1000), 'Etc/UTC'),
      cursor: { sync: { key: 'money' }, y: false, drag: { x: false, y: false } },
      scales: {
        x: { time: true },
        y: { range: (_plot, min, max) => [Math.min(0, min ?? 0), max ? Math.max(0, max) * 1.08 : 1] },
      },
      series: [
        { label: 'Day', value: (_plot, _value, _series, at) => (at == null ? '–' : (this.#days[at]?.day ?? '–')) },
        ...lines.map(({ name, label, colour: variable, dash = [] }) => ({
          label,
          stroke: () => colour(variable),
          width: 1.6,
          dash,
          points: { show: false },
          value: (
            /** @type {uPlot} */ _plot,
            /** @type {number} */ _value,
            /** @type {number} */ _series,
            /** @type {number | null} */ at,
          ) => (at === null ? '–' : exact(this.#days[at]?.[name])),
        })),
      ],
      axes: [
        {
          ...axis,
          space: 84,
          incrs: STEPS_S,
          values: (_plot, times) => times.map((time) => new Date(time * 1000).toISOString().slice(0, 10)),
        },
        { ...axis, size: 64, values: (_plot, values) => values.map((value) => round.format(value)) },
      ],
    };
    return new uPlot(options, this.#data(lines), place);
  }
}

/** @param {string | undefined} text Every digit of it is shown: the formatter takes decimal text as it is. */
function exact(text) {
  return text === undefined ? '–' : amount.format(/** @type {Intl.StringNumericLiteral} */ (text));
}

/** @param {readonly MoneyDay[]} money In the order of days. */
function everyDay(money) {
  const byDay = new Map(money.map((one) => [one.day, one]));
  const number = (/** @type {string | undefined} */ day) => Date.parse(`${day}T00:00:00Z`) / 1000 / S_PER_DAY;
  const first = number(money[0]?.day);
  const count = number(money.at(-1)?.day) - first + 1;
  return Array.from({ length: count }, (_, i) => {
    const day = new Date((first + i) * S_PER_DAY * 1000).toISOString().slice(0, 10);
    return byDay.get(day) ?? null;
  });
}

/** @param {string} variable */
function colour(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

/** @param {Element | null} place */
function widthOf(place) {
  return Math.max(200, Math.floor(place?.getBoundingClientRect().width ?? 0));
}
