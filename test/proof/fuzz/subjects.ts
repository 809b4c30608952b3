/** Every subject of hostile input but the whole way (paths.ts), which needs engines. */
import { disposition } from './disposition.ts';
import { dutchTime } from './dutch-time.ts';
import { eans } from './eans.ts';
import { exports } from './exports.ts';
import { pushBody } from './push-body.ts';
import { reductionsCsv } from './reductions-csv.ts';
import { settings } from './settings.ts';
import { signatureHeaders } from './signature-header.ts';
import { splitter } from './splitter.ts';
import { subIdGrammar } from './sub-id-grammar.ts';
import type { Subject } from './subject.ts';
import { values } from './values.ts';

export const subjects: readonly Subject[] = [
  splitter,
  values,
  dutchTime,
  settings,
  reductionsCsv,
  disposition,
  signatureHeaders,
  pushBody,
  eans,
  exports,
  subIdGrammar,
];
