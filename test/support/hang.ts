/** What takes so long hangs, on however busy a machine: no test is to fail since it was slow. */
export const HANG_MS = 20 * 60_000;
