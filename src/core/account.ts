/** The partner account that rows, paths and state belong to; there is one as yet. */
export const ACCOUNT = 'default';
