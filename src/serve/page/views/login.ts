/** The pages besides the status: to sign in, and to say what failed. */
import { html } from '../../../core/markup.ts';
import { frame } from './frame.ts';

/** `problem`: why the last try did not succeed; null at the first. The form posts the field `token` to /login. */
export function loginHtml({ problem }: { readonly problem: string | null }): string {
  const alert = problem === null ? null : html`<p class="problem" id="problem" role="alert">${problem}</p>`;
  const described = problem === null ? null : html` aria-invalid="true" aria-describedby="problem"`;
  return frame({
    title: 'Sign in – partner-etl',
    body: html`<section class="card narrow" aria-labelledby="title">
<h1 id="title">Sign in</h1>
<p class="about">With the page’s token, held slices can be released and rejected rows tried again.</p>
${alert}<form class="login" method="post" action="/login">
<label for="token">Token</label>
<input type="password" id="token" name="token" autocomplete="current-password" required autofocus${described}>
<button type="submit" class="main">Sign in</button>
</form>
<p class="about">It is what <code>PARTNER_ETL_PAGE_TOKEN</code>, or the file named by <code>PARTNER_ETL_PAGE_TOKEN_FILE</code>, holds where
<code>serve</code> runs. The session lasts for 12 hours.</p>
<p><a href="/">Back to the status</a></p>
</section>
`,
  });
}

/** What failed, and the fix. */
export function problemHtml({ title, hint }: { readonly title: string; readonly hint: string | null }): string {
  return frame({
    title: `${title} – partner-etl`,
    body: html`<article class="card narrow" id="cell">
<h1>${title}</h1>
${hint === null ? null : html`<p>${hint}</p>`}
<p><a href="/">Back to the status</a></p>
</article>
`,
  });
}
