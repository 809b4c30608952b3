/** `subscriptions`: what is pushed to whom, read and changed by hand. Changes are processes, whose end is waited for. */
import { type Command, Option } from 'commander';
import { EtlError } from '../../core/errors.ts';
import { isPathId } from '../../core/ids.ts';
import { isEnded, type ProcessStatus, type Subscription } from '../../extract/subscription-shapes.ts';
import { type ExactJson, ExactNumber } from '../../json/exact-json.ts';
import { commandLine, type Followed } from '../../run/subscriptions/process-waiting.ts';
import {
  createSubscription,
  type Following,
  getSubscription,
  listSubscriptions,
  removeSubscription,
  signatureKeys,
  testSubscription,
  updateSubscription,
  type Wished,
  waitForProcess,
} from '../../run/subscriptions/subscribing.ts';
import { RESOURCES, type WishChange } from '../../run/subscriptions/wish.ts';
import type { CliContext } from '../context.ts';
import { addExamples } from '../help.ts';
import { printTable } from '../print/output.ts';
import type { Cell, TableColumn } from '../print/table.ts';
import { wholeNumber } from '../values.ts';
import { withApp } from '../with-app.ts';
import { foreign, foreignRow, uncut } from './foreign.ts';
import { exactObject, printForeignJson } from './foreign-json.ts';
import { keyFacts } from './signature-key.ts';

interface ReadOptions {
  readonly json?: boolean;
}

interface ChangeOptions extends ReadOptions {
  readonly wait: boolean;
  /** Seconds. */
  readonly timeout: number;
}

interface CreateOptions extends ChangeOptions {
  readonly resources: readonly string[];
}

type UpdateOptions = ChangeOptions & WishChange;

const TIMEOUT_SECONDS = 300;
/** As long as the service remembers a process. */
const LONGEST_TIMEOUT_SECONDS = 48 * 3600;

export function register(program: Command, cli: CliContext): void {
  const subscriptions = program
    .command('subscriptions')
    .description('push subscriptions: what the service pushes to which address');
  reading(subscriptions.command('list'), 'all subscriptions').action((options: ReadOptions) => list(cli, options));
  reading(subscriptions.command('get'), 'one subscription')
    .argument('<id>', 'its id')
    .action((id: string, options: ReadOptions) => get(cli, id, options));
  const create = changing(subscriptions.command('create'), 'subscribe an address, and print the id')
    .argument('<url>', 'the webhook; https')
    .addOption(names('--resources', 'what shall be pushed').makeOptionMandatory())
    .action((url: string, options: CreateOptions) => createOne(cli, url, options));
  const update = changing(subscriptions.command('update'), 'change the address of a subscription, or what is pushed')
    .argument('<id>', 'its id')
    .option('--url <url>', 'another webhook; https')
    .addOption(names('--resources', 'the whole new list'))
    .addOption(names('--add', 'push these, too'))
    .addOption(names('--remove', 'push these no longer'))
    .action((id: string, options: UpdateOptions) => updateOne(cli, id, options));
  changing(subscriptions.command('delete'), 'end a subscription')
    .argument('<id>', 'its id')
    .action((id: string, options: ChangeOptions) => removeOne(cli, id, options));
  const test = changing(subscriptions.command('test'), 'have the service push a test message')
    .argument('[id]', 'the subscription; where there is only one it need not be named')
    .action((id: string | undefined, options: ChangeOptions) => testOne(cli, id, options));
  reading(subscriptions.command('keys'), 'the keys that messages are signed with').action((options: ReadOptions) =>
    keys(cli, options),
  );
  const wait = waiting(reading(subscriptions.command('wait'), 'wait for the end of a process that was started before'))
    .argument('<process-id>', 'as the command printed it that started the process')
    .action((id: string, options: ChangeOptions) => waitFor(cli, id, options));
  const creating = ['create https://etl.example.com/push --resources PROCESS_STATUS,SHIPMENT', 'both kinds'] as const;
  const adding = ['update 5001 --add SHIPMENT', 'the others stay'] as const;
  const under = (examples: readonly (readonly [string, string])[]) =>
    examples.map(([words, does]) => [`subscriptions ${words}`, does] as const);
  addExamples(subscriptions, under([creating, adding, ['list', 'ids, addresses and what is pushed']]));
  addExamples(create, under([creating]));
  addExamples(update, under([adding, ['update 5001 --url https://etl.example.com/push2', 'another address']]));
  addExamples(test, under([['test 5001', 'then look whether a message came']]));
  addExamples(wait, under([['wait 1000001', 'what became of it']]));
}

function reading(command: Command, description: string): Command {
  return command.description(description).option('--json', 'print one JSON document');
}

function changing(command: Command, description: string): Command {
  return waiting(reading(command, description)).option('--no-wait', 'print the id of the process, and do not wait');
}

function waiting(command: Command): Command {
  const seconds = wholeNumber(1, LONGEST_TIMEOUT_SECONDS);
  return command.option('--timeout <seconds>', 'how long to wait for the end', seconds, TIMEOUT_SECONDS);
}

/** An option that takes a list with commas, or is named several times. */
function names(flag: string, description: string): Option {
  const gathered = (text: string, before: readonly string[] = []) => [...before, text];
  return new Option(`${flag} <names>`, `${description}: ${RESOURCES.join(',')}`).argParser(gathered);
}

async function list(cli: CliContext, { json }: ReadOptions): Promise<void> {
  const all = await withApp(cli, listSubscriptions);
  if (json) printJson(cli, { subscriptions: all.map(documentOf) });
  else if (all.length > 0) printSubscriptions(cli, all);
  else cli.stdout.write('there are no subscriptions\n');
}

async function get(cli: CliContext, text: string, { json }: ReadOptions): Promise<void> {
  const id = checkedId(text);
  const found = await withApp(cli, (context) => getSubscription(context, id));
  if (json) printJson(cli, { subscription: documentOf(found) });
  else printSubscriptions(cli, [found]);
}

async function createOne(cli: CliContext, url: string, options: CreateOptions): Promise<void> {
  const { wished, ...followed } = await withApp(cli, (context) =>
    createSubscription(context, url, options.resources, followingOf(cli, options)),
  );
  const done = () =>
    wished.id === null
      ? `${wishText(wished)}; the service names no id, ${commandLine('list')} shows it`
      : `subscription ${wished.id}: ${wishText(wished)}`;
  printChange(cli, options, followed, wishDocument(wished), done);
}

async function updateOne(cli: CliContext, text: string, options: UpdateOptions): Promise<void> {
  const id = checkedId(text);
  const { url, resources, add, remove } = options;
  const change = {
    ...(url === undefined ? {} : { url }),
    ...(resources === undefined ? {} : { resources }),
    ...(add === undefined ? {} : { add }),
    ...(remove === undefined ? {} : { remove }),
  };
  const { wished, ...followed } = await withApp(cli, (context) =>
    updateSubscription(context, id, change, followingOf(cli, options)),
  );
  const summary = `subscription ${id}: ${wishText(wished)}`;
  const done = () => (followed.process === null ? `nothing to change, nothing was sent; ${summary}` : summary);
  printChange(cli, options, followed, wishDocument(wished), done);
}

async function removeOne(cli: CliContext, text: string, options: ChangeOptions): Promise<void> {
  const id = checkedId(text);
  const followed = await withApp(cli, (context) => removeSubscription(context, id, followingOf(cli, options)));
  printChange(cli, options, followed, exactObject({ id }), () => `subscription ${id} is removed`);
}

async function testOne(cli: CliContext, text: string | undefined, options: ChangeOptions): Promise<void> {
  const asked = text === undefined ? null : checkedId(text);
  const { id, ...followed } = await withApp(cli, (context) => {
    const following = followingOf(cli, options);
    return testSubscription(context, asked, { ...following, testsAll: () => say(cli, TESTS_ALL) });
  });
  const what = id === null ? 'every subscription' : `subscription ${id}`;
  const subscription = id === null ? null : exactObject({ id });
  printChange(cli, options, followed, subscription, () => `a test message was sent for ${what}`);
}

const TESTS_ALL = 'this version of the interface tests every subscription at once';

async function waitFor(cli: CliContext, text: string, options: ChangeOptions): Promise<void> {
  const id = checkedId(text);
  const followed = await withApp(cli, (context) =>
    waitForProcess(context, id, followingOf(cli, { ...options, wait: true })),
  );
  const { process } = followed;
  if (options.json) printJson(cli, { ...processMember(process), error: errorDocument(followed.error) });
  if (followed.error) throw followed.error;
  if (!options.json && process) printLine(cli, processText(process));
}

async function keys(cli: CliContext, { json }: ReadOptions): Promise<void> {
  const listed = (await withApp(cli, signatureKeys)).map((key) => ({ ...key, ...keyFacts(key) }));
  if (json)
    printJson(cli, {
      keys: listed.map(({ id, type, publicKey, bits, sha256, broken }) =>
        exactObject({
          id,
          type,
          bits: bits === null ? null : new ExactNumber(String(bits)),
          sha256,
          broken,
          publicKey,
        }),
      ),
    });
  else if (listed.length === 0) cli.stdout.write('the service lists no keys\n');
  else
    printTable(
      uncut(cli.stdout),
      KEY_COLUMNS,
      listed.map((key) => foreignRow(cli, keyRow(key))),
    );
}

const KEY_COLUMNS: readonly TableColumn[] = [
  { title: 'id' },
  { title: 'type' },
  { title: 'bits', align: 'right' },
  { title: 'sha256 of the public key' },
];

function keyRow({
  id,
  type,
  bits,
  sha256,
  broken,
}: { id: string; type: string } & ReturnType<typeof keyFacts>): Cell[] {
  return [id, type, bits, broken === null ? sha256 : `broken: ${broken}`];
}

/** Errors: `usage/bad_id`. */
function checkedId(text: string): string {
  const id = text.trim();
  if (isPathId(id)) return id;
  throw new EtlError('usage', 'bad_id', `${JSON.stringify(id.slice(0, 40))} cannot be an id`, {
    hint: `${commandLine('list')} shows the ids there are; nothing was sent`,
  });
}

function followingOf(cli: CliContext, { wait, timeout }: ChangeOptions): Following {
  cli.interrupt.notice = 'ending; what was sent goes on at the service; press again to stop at once';
  const started = ({ id, status }: ProcessStatus) => {
    if (!isEnded(status)) say(cli, `process ${id} is under way; to wait for it again: ${commandLine('wait', id)}`);
  };
  return { waits: wait, timeoutMs: timeout * 1000, started };
}

/** Prints what became of a change. Errors: that of the process. */
function printChange(
  cli: CliContext,
  { json, wait }: ChangeOptions,
  { process, error }: Followed,
  subscription: ExactJson,
  done: () => string,
): void {
  if (json) printJson(cli, { subscription, ...processMember(process), error: errorDocument(error) });
  if (error) throw error;
  if (!json) printLine(cli, wait || process === null ? done() : process.id);
}

function processMember(process: ProcessStatus | null): Record<string, ExactJson> {
  if (process === null) return { process: null };
  const { id, entityId, eventType, description, status, errorMessage, createTimestamp } = process;
  return {
    process: exactObject({ id, entityId, eventType, description, status, errorMessage, createTimestamp }),
  };
}

function errorDocument(error: EtlError | null): ExactJson {
  if (error === null) return null;
  const { kind, code, message, hint = null } = error;
  return exactObject({ kind, code, message, hint });
}

function processText({ id, eventType, status, entityId }: ProcessStatus): string {
  const what = eventType === null ? '' : ` (${eventType})`;
  return `process ${id}${what}: ${status}${entityId === null ? '' : `, about ${entityId}`}`;
}

function documentOf({ id, url, resources, extra }: Subscription): ExactJson {
  return exactObject({ id, url, resources, ...(extra === null ? {} : { extra }) });
}

function wishDocument({ id, url, resources }: Wished): ExactJson {
  return exactObject({ id, url, resources });
}

function wishText({ url, resources }: Wished): string {
  return `${resources.join(', ')} to ${url}`;
}

const SUBSCRIPTION_COLUMNS: readonly TableColumn[] = [{ title: 'id' }, { title: 'resources' }, { title: 'url' }];

function printSubscriptions(cli: CliContext, all: readonly Subscription[]): void {
  const rows = all.map(({ id, url, resources }) => foreignRow(cli, [id, resources.join(', '), url]));
  printTable(uncut(cli.stdout), SUBSCRIPTION_COLUMNS, rows);
}

function printJson(cli: CliContext, members: Readonly<Record<string, ExactJson>>): void {
  printForeignJson(cli.stdout, exactObject(members), cli.secrets);
}

function printLine(cli: CliContext, text: string): void {
  cli.stdout.write(`${foreign(cli, text)}\n`);
}

/** For people alone, beside the result. */
function say(cli: CliContext, text: string): void {
  if (!cli.verbosity.quiet) cli.say(foreign(cli, text));
}
