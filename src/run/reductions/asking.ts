/** The calls for the reductions file: its name, and the file of that name. What they say lies in the raw store. */
import path from 'node:path';
import { asEtlError, EtlError } from '../../core/errors.ts';
import { LIMITS } from '../../core/limits.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { type FileDestination, receiveFile } from '../../extract/file.ts';
import type { Answer } from '../../partner/client.ts';
import { dispositionName, recordable } from '../../partner/file-name.ts';
import { reductionsFileCall, reductionsNameCall } from '../../partner/lookups.ts';
import type { Partner } from '../context.ts';
import type { Session } from '../session.ts';
import { driftOf, type ReadFile, readFile } from './applying.ts';

/** Asks for the name of the newest file. */
export async function askName(session: Session, partner: Partner, pipeline: Pipeline, folder: string): Promise<string> {
  const to: FileDestination = {
    ...destination(session, pipeline, folder),
    extension: 'txt',
    mostBytes: LIMITS.nameBytes,
  };
  const call = reductionsNameCall(
    partner.settings,
    pipeline.name,
    async (answer) => {
      const received = await receiveFile(answer, to);
      return { ...received, value: nameIn(received.head.toString('utf8'), received.rawPath), items: null };
    },
    session.context.signal,
  );
  return (await partner.client.call(call)).value;
}

/** The bare name; a page of somebody else's passes, so it is asked again. */
function nameIn(text: string, rawPath: string): string {
  const name = recordable(text.replace(/^\ufeff/, ''));
  if (name !== null && !/^[<{[]/.test(name)) return name;
  throw new EtlError('retry', 'no_file_name', 'the answer for the name of the newest reductions file is no name', {
    hint: `what was received lies in ${rawPath}`,
  });
}

/** Fetches the file of that name, and reads it. */
export async function fetchFile(
  session: Session,
  partner: Partner,
  pipeline: Pipeline,
  asked: string,
  folder: string,
): Promise<ReadFile> {
  const { context, ledger } = session;
  const decodedFile = path.join(folder, 'decoded');
  const to = { ...destination(session, pipeline, folder), decodedFile };
  const call = reductionsFileCall(
    partner.settings,
    pipeline.name,
    async (answer: Answer) => {
      const { head: _, ...received } = await receiveFile(answer, to);
      const named = dispositionName(answer.header('content-disposition'));
      const notes = { asked_name: asked, file_name: named ?? asked };
      return { ...received, value: named, items: null, notes };
    },
    context.signal,
  );
  const { value: named, record } = await partner.client.call(call);
  await context.step('answer-received', pipeline.name);
  if (named === null) ledger.drift.push(driftOf(pipeline, record, 'no_file_name', 'Content-Disposition', asked));
  return readFile(context, pipeline, record, decodedFile, folder).catch((thrown) => {
    const { code, message } = asEtlError(thrown);
    ledger.drift.push(driftOf(pipeline, record, code, 'header', message));
    throw thrown;
  });
}

function destination({ context }: Session, pipeline: Pipeline, folder: string): FileDestination {
  const { raw } = context;
  const mostBytes = LIMITS.reductionsFileBytes;
  return { raw, pipeline: pipeline.name, folder, extension: 'csv', decodedFile: null, mostBytes };
}
