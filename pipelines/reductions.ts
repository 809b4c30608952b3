import { z } from 'zod';
import { column, declarePipeline } from '../src/core/pipeline.ts';
import { line, matching, type Section, whole } from '../src/core/settings.ts';
import { childOf, file } from '../src/core/source.ts';

export interface ReductionsSettings {
  /** The newest file's name is not asked for again before so many minutes have passed. */
  readonly recheckMinutes: number;
  /** One character. */
  readonly delimiter: string;
  /** Names in the file's header. */
  readonly columns: Readonly<Record<'ean' | 'maximumPrice' | 'costReduction' | 'startDate' | 'endDate', string>>;
}

const header = () => line('the name of a column');

const settings: Section<ReductionsSettings> = {
  shape: {
    recheckMinutes: whole(0, 10_080, 'minutes'),
    delimiter: matching(/^[^"\r\n\0]$/, 'one character, such as "," or ";", but no quote'),
    columns: z
      .strictObject({
        ean: header(),
        maximumPrice: header(),
        costReduction: header(),
        startDate: header(),
        endDate: header(),
      })
      .refine((columns) => new Set(Object.values(columns)).size === Object.values(columns).length, {
        error: 'five different names of columns',
      }),
  },
  usual: {
    recheckMinutes: 30,
    delimiter: ',',
    columns: {
      ean: 'EAN',
      maximumPrice: 'MaximumPrice',
      costReduction: 'CostReduction',
      startDate: 'StartDate',
      endDate: 'EndDate',
    },
  },
};

export const reductions = declarePipeline({
  name: 'reductions',
  version: 1,
  about: 'The lines of the newest reductions file; mart.reduction shows every line with the files that had it.',
  answer: 'reductions file',
  source: file('retailer', settings),
  schedule: '30 5 * * *',
  table: 'fact_reduction',
  columns: [
    column(1, 'ean', 'text', 'the product', { required: true, from: '`EAN`' }),
    column(2, 'maximumPrice', 'money', 'highest selling price at which the reduction applies', {
      from: '`MaximumPrice`',
    }),
    column(3, 'costReduction', 'money', 'by how much the commission is lower', { from: '`CostReduction`' }),
    column(4, 'startDate', 'day', 'first day', { from: '`StartDate`' }),
    column(5, 'endDate', 'day', 'last day', { from: '`EndDate`' }),
    column(6, 'observedOn', 'day', 'day on which the file was fetched that first had the line', { required: true }),
    column(7, 'observedFrom', 'utc-time', 'when that file was fetched', { column: 'valid_from', required: true }),
    column(8, 'fileName', 'text', 'name of that file', { from: 'Content-Disposition of the download' }),
  ],
  key: ['ean', 'maximum_price', 'cost_reduction', 'start_date', 'end_date'],
  write: 'merge',
  merge: { ignore: ['file_name'] },
  sort: ['ean', 'start_date', 'end_date', 'maximum_price', 'cost_reduction'],
});

export const reductionsFiles = declarePipeline({
  name: 'reductions-files',
  version: 1,
  about: 'Every reductions file that was downloaded, also one that brought nothing new.',
  answer: 'reductions file',
  source: childOf('reductions'),
  table: 'reductions_file',
  columns: [
    column(1, 'fileName', 'text', 'name of the file as its download gave it', {
      required: true,
      from: 'Content-Disposition of the download',
    }),
    column(2, 'askedName', 'text', 'name of the newest file as it was given just before', {
      from: 'the answer of the call for the newest name',
    }),
    column(3, 'sha256', 'text', 'of its content', { required: true, from: 'made by partner-etl' }),
    column(4, 'bytes', 'count', 'size', { from: 'made by partner-etl' }),
    column(5, 'lines', 'count', 'lines besides the header', { from: 'made by partner-etl' }),
    column(6, 'isSameContent', 'boolean', 'the content is that of the file before', {
      from: 'made by partner-etl: its sha256 is that of the file before',
    }),
    column(7, 'observedOn', 'day', 'day on which it was fetched', { required: true }),
    column(8, 'observedFrom', 'utc-time', 'when it was fetched', { required: true }),
  ],
  key: null,
  write: 'append',
  day: 'observed_on',
  sort: ['observed_from', 'file_name'],
});
