/** What the views know of who looks at the page. */
export interface SessionShown {
  /** Who signed in may release and retry. */
  readonly isSignedIn: boolean;
  /** Whether a token is set at all; without one nobody can sign in. */
  readonly hasToken: boolean;
  /** Value of the field `csrf` of every form; null: no form is accepted. */
  readonly csrf: string | null;
  /** One sentence on what was just done, plain text; null: nothing was. */
  readonly notice: string | null;
  /** What the next look at the page will show; null: nothing waits. */
  readonly waiting: string | null;
}
