/** Seeds whose scenario has what it takes to find a mutant: to look for one without trying them all. */
import { type Scenario, scenarioOf } from './scenario.ts';

type Fits = (scenario: Scenario) => boolean;

const changes = (scenario: Scenario) => scenario.days.flatMap((day) => day.changes.map(({ kind }) => kind as string));
const laterChanges = ({ days }: Scenario) =>
  days.slice(1).flatMap((day) => day.changes.map(({ kind }) => kind as string));
const faults = (scenario: Scenario) => scenario.days.flatMap((day) => day.faults);
const runs = ({ days }: Scenario) => days.flatMap((day) => day.runs);
const isCalm = (scenario: Scenario) => faults(scenario).length === 0 && runs(scenario).every(({ aim }) => aim === null);
const isCheap = ({ days }: Scenario) => days.length <= 2;
const cutAfter: Fits = (scenario) => runs(scenario).some(({ isPowerCut, aim }) => isPowerCut && aim === null);

/** Mutants that are not here are found by most seeds. */
const FITS: Readonly<Record<string, Fits>> = {
  'content-not-synced': cutAfter,
  'folder-not-synced': cutAfter,
  'warehouse-in-place': (s) => !s.beginsBare && isCalm(s),
  'receipt-apart': (s) => !changes(s).includes('empty-day') && runs(s).length > 1 && isCalm(s),
  'range-not-deleted': (s) => isCalm(s) && laterChanges(s).includes('restate-item'),
  'emptied-day-kept': (s) => isCheap(s) && laterChanges(s).includes('empty-day') && isCalm(s),
  'hold-applied': (s) => laterChanges(s).includes('empty-day') && isCalm(s),
  'token-outlived': (s) =>
    s.days.some((day) => day.runs.length > 1) && isCalm(s) && !changes(s).includes('revoke-tokens'),
  'retry-after-ignored': (s) =>
    faults(s).some((f) => f.status === 429 && f.times === 1) && runs(s).every(({ aim }) => aim === null),
  'duplicates-not-counted': (s) =>
    faults(s).some(({ kind }) => kind === 'duplicate') && runs(s).every(({ aim }) => aim === null),
  'digest-not-compared': (s) => laterChanges(s).includes('restate-item') && isCalm(s),
  'answer-not-compared': (s) =>
    s.days.some(({ runs: some, changes: list }) => some.length > 1 && list[1]?.kind === 'restate-item') &&
    isCalm(s) &&
    isCheap(s),
  'lock-not-taken': (s) =>
    isCheap(s) && runs(s).some(({ kind, aim }) => kind.startsWith('night beside') && aim === null),
  'moved-item-twice': ({ days, ...s }) =>
    days.slice(1).some((day) => day.changes.some((c) => c.kind === 'move-item' && c.daysAgo === 4 && c.other < 0.6)) &&
    isCalm({ days, ...s }) &&
    s.reports.length === 1,
  'money-through-number': (s) => changes(s).includes('dear-item') && isCheap(s) && isCalm(s),
  'lake-not-looked-at': (s) => s.losesWarehouse && isCheap(s) && isCalm(s),
  'file-fetched-once': (s) => s.hasLookups && isCheap(s) && laterChanges(s).includes('reductions-changed') && isCalm(s),
  // Messages are taken in behind the reports: with one of these the ninth step is the last before they are committed.
  'inbox-emptied-early': (s) =>
    s.hasPushes &&
    !s.hasLookups &&
    s.reports.length === 1 &&
    faults(s).length === 0 &&
    runs(s).some(({ aim, kind }) => kind === 'night' && aim?.kind === 'step' && aim.at === 9),
  'message-told-twice': (s) => s.hasPushes && faults(s).some(({ kind }) => kind === 'lose-answer'),
};

/** The known seed first, then others that may find it. */
export function likelySeeds(mutant: string, known: number, most: number): number[] {
  const fits = FITS[mutant] ?? isCalm;
  const seeds = known > 0 ? [known] : [];
  for (let seed = 1; seeds.length < most && seed < 200_000; seed++) if (fits(scenarioOf(seed))) seeds.push(seed);
  return seeds;
}
