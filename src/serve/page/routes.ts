/** The status page over HTTP: which paths there are, and what is answered. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../core/clock.ts';
import { addDays, type Day, isDay } from '../../core/days.ts';
import { asEtlError } from '../../core/errors.ts';
import { fieldsAbout, type Log } from '../../core/log.ts';
import { foreignText } from '../../core/redact.ts';
import type { Routes } from '../admin-server.ts';
import { type Action, type Actions, releaseOf, retryOf } from './actions.ts';
import { Gate, isApi, NO_TOKEN, type Refused, setHeaders, TOO_MANY } from './gate.ts';
import type { SessionShown } from './session-shown.ts';
import { type Session, type Sessions, sessionCookie } from './sessions.ts';
import type { PageSources } from './sources/sources.ts';
import { versionOf } from './version.ts';
import { type Asset, assets, cellHtml, loginHtml, pageHtml, problemHtml } from './views/index.ts';

export interface PageRoutesOptions {
  /** Where the server listens. */
  readonly host: string;
  readonly sources: Pick<PageSources, 'readPage' | 'readCell'>;
  readonly sessions: Sessions;
  readonly actions: Pick<Actions, 'begin' | 'underWay'>;
  /** Pipelines that people name. */
  readonly pipelines: readonly string[];
  readonly today: () => Day;
  readonly secrets: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

const FORM_BYTES = 4096;
/** So long the answer to a form waits for what was begun; after that the page says that it is under way. */
const WAIT_MS = 5_000;
const FIRST_DAY = '2000-01-01' as Day;
/** The names hold a part of their content's hash. */
const FOR_EVER = 'public, max-age=31536000, immutable';

const NOT_FOUND: Refused = {
  status: 404,
  code: 'not_found',
  title: 'There is no such page',
  hint: 'A day is found by /cell/PIPELINE/yyyy-mm-dd; the status lists the pipelines.',
};
const BAD_REQUEST: Refused = {
  status: 400,
  code: 'bad_request',
  title: 'This cannot be read as a request of the page',
  hint: `Forms are sent as application/x-www-form-urlencoded, of at most ${FORM_BYTES} bytes.`,
};

export function pageRoutes(options: PageRoutesOptions): Routes {
  return (app) => {
    // In a scope of its own: health and metrics have other rules.
    app.register(async (page) => new PageRoutes(options).serve(page));
  };
}

class PageRoutes {
  private readonly options: PageRoutesOptions;
  private readonly gate: Gate;

  constructor(options: PageRoutesOptions) {
    this.options = options;
    this.gate = new Gate(options);
  }

  serve(page: FastifyInstance): void {
    page.removeAllContentTypeParsers();
    page.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: FORM_BYTES },
      (_request, body, done) => done(null, new URLSearchParams(String(body))),
    );
    page.setErrorHandler((error: FastifyError, request, reply) => this.fail(error, request, reply));
    page.addHook('onRequest', async (request, reply) => {
      setHeaders(reply);
      const refused =
        this.gate.refusesHost(request) ?? (request.method === 'POST' ? this.gate.refusesOrigin(request) : null);
      if (refused) return this.refuse(request, reply, refused);
    });
    page.get('/assets/:name', (request, reply) => this.asset(request, reply));
    page.get('/login', (request, reply) => this.loginPage(request, reply));
    page.post('/login', (request, reply) => this.login(request, reply));
    page.post('/logout', (request, reply) => this.logout(request, reply));
    page.post('/release', (request, reply) => this.release(request, reply));
    page.post('/retry', (request, reply) => this.retry(request, reply));
    page.register(async (readers) => {
      readers.addHook('onRequest', async (request, reply) => {
        const refused = this.gate.refusesReader(request);
        if (!refused) return;
        if (refused.status === 401 && !isApi(request)) return reply.redirect('/login', 303);
        return this.refuse(request, reply, refused);
      });
      readers.get('/', (request, reply) => this.status(request, reply));
      readers.get('/cell/:pipeline/:day', (request, reply) => this.cell(request, reply));
      readers.get('/api/page', (request, reply) => this.statusJson(request, reply));
      readers.get('/api/cell/:pipeline/:day', (request, reply) => this.cellJson(request, reply));
    });
  }

  private async status(request: FastifyRequest, reply: FastifyReply) {
    const { year = '' } = request.query as { year?: unknown };
    const asked = /^\d{4}$/.test(String(year)) ? Number(year) : null;
    return sendHtml(reply, pageHtml(await this.options.sources.readPage(), this.shown(request, true), asked));
  }

  private async statusJson(request: FastifyRequest, reply: FastifyReply) {
    const model = await this.options.sources.readPage();
    const etag = `"${versionOf(model, this.shown(request, false))}"`;
    reply.header('etag', etag);
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    return sendJson(reply, model);
  }

  private async cell(request: FastifyRequest, reply: FastifyReply) {
    const slice = this.sliceIn(request.params);
    if (!slice) return this.refuse(request, reply, NOT_FOUND);
    const explanation = await this.options.sources.readCell(slice.pipeline, slice.day);
    return sendHtml(reply, cellHtml(explanation, this.shown(request, false)));
  }

  private async cellJson(request: FastifyRequest, reply: FastifyReply) {
    const slice = this.sliceIn(request.params);
    if (!slice) return this.refuse(request, reply, NOT_FOUND);
    return sendJson(reply, await this.options.sources.readCell(slice.pipeline, slice.day));
  }

  private async asset(request: FastifyRequest, reply: FastifyReply) {
    const { name } = request.params as { name: string };
    const asset: Asset | undefined = assets().get(name);
    if (!asset) return this.refuse(request, reply, NOT_FOUND);
    return reply.header('cache-control', FOR_EVER).type(asset.type).send(asset.body);
  }

  private async loginPage(request: FastifyRequest, reply: FastifyReply) {
    if (!this.options.sessions.hasToken)
      return this.refuse(request, reply, { ...NO_TOKEN, title: 'Nobody can sign in' });
    if (this.gate.sessionOf(request)) return reply.redirect('/', 303);
    return sendHtml(reply, loginHtml({ problem: null }));
  }

  private async login(request: FastifyRequest, reply: FastifyReply) {
    const { sessions, log } = this.options;
    if (!sessions.hasToken) return this.refuse(request, reply, { ...NO_TOKEN, title: 'Nobody can sign in' });
    const verdict = sessions.try(formOf(request).get('token') ?? '', request.ip);
    if (verdict !== 'right') {
      log.warn(`somebody tried to sign in to the status page: ${verdict.replace('_', ' ')}`, { from: request.ip });
      const problem = verdict === 'wrong' ? 'This is not the token.' : `${TOO_MANY.title}. ${TOO_MANY.hint}`;
      if (verdict === 'too_many') reply.header('retry-after', '60');
      return sendHtml(reply.code(verdict === 'wrong' ? 403 : 429), loginHtml({ problem }));
    }
    const before = this.gate.sessionOf(request);
    if (before) sessions.end(before);
    return reply.header('set-cookie', sessionCookie(sessions.begin())).redirect('/', 303);
  }

  private async logout(request: FastifyRequest, reply: FastifyReply) {
    const session = this.gate.actor(request, formOf(request).get('csrf'));
    if ('status' in session) return this.refuse(request, reply, session);
    this.options.sessions.end(session);
    return reply.header('set-cookie', sessionCookie(null)).redirect('/', 303);
  }

  private async release(request: FastifyRequest, reply: FastifyReply) {
    const form = formOf(request);
    const session = this.gate.actor(request, form.get('csrf'));
    if ('status' in session) return this.refuse(request, reply, session);
    const slice = this.sliceIn({ pipeline: form.get('pipeline'), day: form.get('day') });
    if (!slice) return this.refuse(request, reply, NOT_FOUND);
    return this.act(session, releaseOf(slice.pipeline, slice.day), reply);
  }

  private async retry(request: FastifyRequest, reply: FastifyReply) {
    const form = formOf(request);
    const session = this.gate.actor(request, form.get('csrf'));
    if ('status' in session) return this.refuse(request, reply, session);
    const named = form.get('pipeline') ?? '';
    if (named !== '' && !this.options.pipelines.includes(named)) return this.refuse(request, reply, NOT_FOUND);
    const { rejects } = await this.options.sources.readPage();
    const pipelines = named === '' ? [...new Set(rejects.map(({ pipeline }) => pipeline))] : [named];
    if (pipelines.length > 0) return this.act(session, retryOf(pipelines), reply);
    session.notice = 'There are no rejects to retry.';
    return reply.redirect('/', 303);
  }

  /** Begins it, waits a little for its end, and leads back to the page, which says what came of it. */
  private async act(session: Session, action: Action, reply: FastifyReply) {
    const { actions, clock } = this.options;
    const done = actions.begin(action);
    if (done === null) session.notice = `Not begun: the ${actions.underWay ?? 'end of serve'} is under way.`;
    else {
      const noticed = done.then((notice) => {
        session.notice = notice;
      });
      const over = new AbortController();
      const tired = clock.sleep(WAIT_MS, over.signal).catch(() => undefined);
      await Promise.race([noticed, tired]);
      over.abort();
    }
    return reply.redirect('/', 303);
  }

  /** `takesNotice`: the notice is shown with this, and not again. */
  private shown(request: FastifyRequest, takesNotice: boolean): SessionShown {
    const { sessions, actions } = this.options;
    const session = this.gate.sessionOf(request);
    const { hasToken } = sessions;
    if (!session) return { isSignedIn: false, hasToken, csrf: null, notice: null, waiting: null };
    const underWay =
      actions.underWay === null
        ? null
        : `The ${actions.underWay} is under way. What came of it will stand here; without scripts, reload the page.`;
    const notice = takesNotice ? (session.notice ?? underWay) : null;
    if (takesNotice) session.notice = null;
    return { isSignedIn: true, hasToken, csrf: session.csrf, notice, waiting: session.notice ?? underWay };
  }

  private sliceIn(named: unknown): { readonly pipeline: string; readonly day: Day } | null {
    const { pipeline, day } = named as { pipeline: string | null; day: string | null };
    if (pipeline === null || day === null || !this.options.pipelines.includes(pipeline)) return null;
    if (!isDay(day) || day < FIRST_DAY || day > addDays(this.options.today(), 366)) return null;
    return { pipeline, day };
  }

  private fail(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
    const { statusCode = 500 } = error;
    if (statusCode === 413 || statusCode === 415)
      return this.refuse(request, reply, { ...BAD_REQUEST, status: statusCode });
    if (statusCode >= 400 && statusCode < 500) return this.refuse(request, reply, BAD_REQUEST);
    const { message, hint, code, concern } = asEtlError(error);
    this.options.log.error(`the status page failed: ${message}`, { code, ...fieldsAbout(concern) });
    const shown = (text: string) => foreignText(text, this.options.secrets, 400);
    const about = hint === undefined ? '' : ` Fix: ${shown(hint)}.`;
    const failed = {
      status: 500 as const,
      code,
      title: 'The status cannot be read',
      hint: `${shown(message)}.${about}`,
    };
    return this.refuse(request, reply, failed);
  }

  private refuse(request: FastifyRequest, reply: FastifyReply, { status, code, title, hint }: Refused) {
    reply.code(status);
    if (status === 429) reply.header('retry-after', '60');
    if (isApi(request)) return sendJson(reply, { error: code });
    return sendHtml(reply, problemHtml({ title, hint }));
  }
}

function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}

function sendHtml(reply: FastifyReply, html: string) {
  return reply.type('text/html; charset=utf-8').send(html);
}

/** Without a tag in it, whatever somebody takes it for. */
function sendJson(reply: FastifyReply, value: unknown) {
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(value).replaceAll('<', '\\u003c'));
}
