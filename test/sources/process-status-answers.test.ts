import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { processStatuses } from '../../pipelines/process-statuses.ts';
import type { FetchRecord } from '../../src/core/records.ts';
import { answerOf, linesIn } from '../extract/lookup-scene.ts';
import { NO_COUNTS, openReader, readAnswers, typedRows } from './reading.ts';

type Told = readonly [asked: unknown, body: unknown, fields?: Partial<FetchRecord>];

const linesOf = (...answers: readonly Told[]) =>
  readAnswers(
    processStatuses,
    [],
    answers.map(([asked, body, fields]) => answerOf(asked, body, { pipeline: 'process-statuses', ...fields })),
  );

const START = { askedBy: 'start', id: null, startedAs: 'CREATE_SUBSCRIPTION' };
const byStatus = (id: string) => ({ askedBy: 'status', id });
/** As the documentation shows it. */
const DOCUMENTED = `{
  "id" : 2,
  "entityId" : "555552",
  "eventType" : "CANCEL_ORDER",
  "description" : "This is a mocked process status.",
  "status" : "SUCCESS",
  "createTimestamp" : "2021-03-22T09:10:33.955061+01:00"
}`;

describe('a process status', () => {
  test('becomes a line with why it was asked for', async () => {
    const { lines, counts, drift } = await linesOf([byStatus('2'), DOCUMENTED, { fetch_id: 'f7' }]);
    expect(lines).toEqual([
      {
        _i: '0',
        _f: 'f7',
        observedOn: '2026-03-20',
        observedFrom: '2026-03-20T02:00:00.123Z',
        id: '2',
        askedBy: 'status',
        outcome: 'found',
        status: 'SUCCESS',
        entityId: '555552',
        eventType: 'CANCEL_ORDER',
        description: 'This is a mocked process status.',
        createTimestamp: '2021-03-22T09:10:33.955061+01:00',
        _raw: DOCUMENTED,
      },
    ]);
    expect(counts).toEqual({ ...NO_COUNTS, keys: 1, records: 1, found: 1 });
    expect(drift).toEqual([]);
  });

  test('has the id that the answer tells where a request was answered, links as sent, and what is unknown apart', async () => {
    const links = [{ rel: 'self', method: 'GET', href: 'https://api.example.org/shared/process-status/1' }];
    const told = { processStatusId: 'a-1', status: 'PENDING', links, priority: 1.5, errorMessage: 'none' };
    const { lines, drift } = await linesOf([START, told]);
    expect(lines[0]).toMatchObject({
      id: 'a-1',
      askedBy: 'start',
      status: 'PENDING',
      errorMessage: 'none',
      links: '[{"href":"https://api.example.org/shared/process-status/1","method":"GET","rel":"self"}]',
      _x: '{"priority":1.5}',
    });
    expect(drift).toEqual([expect.objectContaining({ kind: 'unknown_field', field: 'priority', example: '1.5' })]);
  });

  test.each([
    ['no id', { status: 'SUCCESS' }],
    ['an empty one', { id: '', status: 'SUCCESS' }],
    ['null', { processStatusId: null, id: null, status: 'SUCCESS' }],
  ])('with %s is that of the one asked for', async (_, body) => {
    const { lines } = await linesOf([{ askedBy: 'message', id: '77' }, body]);
    expect(lines).toMatchObject([{ id: '77', askedBy: 'message', outcome: 'found', status: 'SUCCESS' }]);
  });

  test('with an id in other letters is that of the one asked for; with another id it is set aside', async () => {
    const told = (processStatusId: unknown) => ({ processStatusId, status: 'SUCCESS' });
    const { lines, rejectLines, counts } = await linesOf(
      [byStatus('ab-1'), told('AB-1')],
      [byStatus('ab-1'), told('ab-2')],
      [byStatus('9007199254740993'), '{"id":9007199254740993,"status":"SUCCESS"}'],
      [byStatus('9007199254740992'), '{"id":9007199254740993,"status":"SUCCESS"}'],
      [START, told('..')],
      [START, told('x'.repeat(129))],
      [START, { status: 'PENDING' }],
    );
    expect(lines.map(({ id }) => id)).toEqual(['ab-1', '9007199254740993']);
    expect(rejectLines.map(({ item, reason, detail }) => [item, reason, detail])).toEqual([
      [0, 'other_id', 'processStatusId = ab-2, not ab-1'],
      [0, 'other_id', 'id = 9007199254740993, not 9007199254740992'],
      [0, 'bad_id', 'processStatusId = ..'],
      [0, 'bad_id', `processStatusId = ${'x'.repeat(129)}`],
      [0, 'missing_field', 'processStatusId'],
    ]);
    expect(counts).toEqual({ ...NO_COUNTS, keys: 7, records: 7, found: 2, rejects: 5, rejectedKeys: 5 });
  });

  test.each([
    'yesterday',
    '2021-02-30T09:10:33+01:00',
    '2021-03-22T09:10:33',
    '2021-03-22T25:10:33Z',
    '2021-03-22 09:10:33+01:00',
  ])('that began at "%s" keeps that apart, and its status', async (createTimestamp) => {
    const { lines, drift } = await linesOf([byStatus('1'), { id: 1, status: 'SUCCESS', createTimestamp }]);
    expect(lines).toMatchObject([{ status: 'SUCCESS', _x: JSON.stringify({ createTimestamp }) }]);
    expect(lines[0]).not.toHaveProperty('createTimestamp');
    expect(drift).toMatchObject([{ kind: 'unknown_field', field: 'createTimestamp', example: `"${createTimestamp}"` }]);
  });

  test('with a status that nobody knows, and in damaged text, is kept and told', async () => {
    const body = Buffer.concat([
      Buffer.from('{"id":"1","status":"PAUSED","description":"a\\u0000b\\ud800'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ]);
    const { reader } = await openReader(processStatuses);
    await reader.take({ ...answerOf(byStatus('1'), ''), body });
    const { rows, drift } = await reader.close();
    expect(await linesIn(rows.file)).toMatchObject([{ status: 'PAUSED', description: 'ab\ufffd\ufffd' }]);
    expect(drift.map(({ kind, field }) => `${kind} ${field}`).sort()).toEqual([
      'invalid_utf8 payload',
      'lone_surrogate description',
      'nul_removed description',
      'unknown_value status',
    ]);
  });

  test.each([404, 410])('that the service does not know (%s) is a line with what it said', async (status) => {
    const problem = { title: 'Not Found', detail: 'Process status 5 does not exist.' };
    const { lines, counts } = await linesOf([byStatus('5'), problem, { status }]);
    expect(lines).toEqual([
      expect.objectContaining({
        id: '5',
        outcome: 'not_found',
        reason: 'Not Found; Process status 5 does not exist.',
      }),
    ]);
    expect(counts).toEqual({ ...NO_COUNTS, keys: 1, refused: 1 });
  });

  test.each([
    ['no JSON', byStatus('1'), '<html>', {}, 'not_json'],
    ['no object', byStatus('1'), '[]', {}, 'not_an_object'],
    ['no status', byStatus('1'), '{"id":1}', {}, 'no_status'],
    ['too much', byStatus('1'), `{"id":1,"status":"${'x'.repeat(1024 * 1024)}"}`, {}, 'answer_too_large'],
    ['a start that was refused', START, '{}', { status: 404 }, 'damaged_answer'],
    ['another refusal', byStatus('1'), '{}', { status: 400 }, 'damaged_answer'],
    ['no question', null, DOCUMENTED, {}, 'damaged_answer'],
    ['a question about nothing', { askedBy: 'status', id: null }, DOCUMENTED, {}, 'damaged_answer'],
    ['a question by nobody', { askedBy: 'chance', id: '1' }, DOCUMENTED, {}, 'damaged_answer'],
  ])('answered with %s is refused whole, and nothing of it is taken', async (_, asked, body, fields, code) => {
    const { reader } = await openReader(processStatuses);
    await expect(reader.take(answerOf(asked, body, fields))).rejects.toMatchObject({ kind: 'failed', code });
    const { rows, rejects } = await reader.close();
    expect([await readFile(rows.file, 'utf8'), await readFile(rejects.file, 'utf8')]).toEqual(['', '']);
  });

  test('is typed as the pipeline declares it, to the microsecond', async () => {
    const { folder, rows: file } = await linesOf([byStatus('2'), DOCUMENTED], [byStatus('3'), '', { status: 404 }]);
    const rows = await typedRows(
      folder,
      processStatuses,
      file,
      'process_status_id, outcome, epoch_us(create_timestamp)::VARCHAR AS began, observed_on::VARCHAR AS day, _reject',
    );
    expect(rows).toEqual([
      { process_status_id: '2', outcome: 'found', began: '1616400633955061', day: '2026-03-20', _reject: null },
      { process_status_id: '3', outcome: 'not_found', began: null, day: '2026-03-20', _reject: null },
    ]);
  });
});
